import { writeFileSync } from 'node:fs';
import { boot } from '../smoke/boot.ts';
import type { Outcome } from '../smoke/check.ts';
import type { SmokeOptions } from '../smoke/context.ts';
import { countsOf, type Report } from '../smoke/report.ts';
import { jsonReport } from '../smoke/report-json.ts';
import { junitReport } from '../smoke/report-junit.ts';
import { tableRow, tableSummary } from '../smoke/report-table.ts';
import { runChecks } from '../smoke/runner.ts';
import { CliError, type Command, EXIT, type Terminal } from './command.ts';
import { type SmokeArguments, smokeArguments } from './smoke-options.ts';

const HELP = `Usage: countersign smoke [options]

Checks that a gateway keeps its contracts: its HTTP surface, cookie flags, CSRF, problems,
signatures, rate headers and every rule of the Service that a front end can observe. With no
options it boots a gateway and the reference Service on free ports of loopback, checks
everything, and is done in seconds. With --url it checks a deployed gateway and leaves it as
it was; what cannot be seen from outside is marked as skipped.

Options:
  --url URL             a deployed gateway, as the front end reaches it; a path is the tenant's mount
  --tenant NAME         the tenant that URL must belong to
  --login METHOD        visitor (the default, where it is offered), password, or none
  --username NAME       with --login password
  --password-env NAME   environment variable that holds the password
  --mutations           let an administrator's session create one group and delete it again
  --only ID…            only these checks; a group's name stands for all of its checks
  --list                show the checks, and run none
  --junit FILE          also write a JUnit XML report
  --json                a JSON report instead of the table
  --help                this text

Examples:
  countersign smoke
  countersign smoke --junit smoke.xml
  countersign smoke --url https://console.acme.example --tenant acme
  SMOKE_PASSWORD=… countersign smoke --url https://console.acme.example --login password \\
    --username ada --password-env SMOKE_PASSWORD --mutations
  countersign smoke --only cookie csrf.session

Exit codes: 0 everything that could be checked holds, 1 something does not, 2 bad arguments.
`;

export const smokeCommand: Command = {
  name: 'smoke',
  summary: 'check that a gateway keeps its contracts',
  help: HELP,
  async run(args, terminal) {
    const smoke = smokeArguments(args, terminal.env);
    if (smoke.list) {
      for (const { id, needs, says, rule } of smoke.checks) {
        terminal.stdout.write(`${id.padEnd(30)}${needs.padEnd(9)}${says} (${rule})\n`);
      }
      return EXIT.ok;
    }
    // Found out before the run, not after it.
    if (smoke.junit !== undefined) writeReport(smoke.junit, '');
    const report = await run(smoke, terminal);
    if (smoke.junit !== undefined) writeReport(smoke.junit, junitReport(report));
    if (smoke.json) terminal.stdout.write(`${JSON.stringify(jsonReport(report), null, 2)}\n`);
    else terminal.stdout.write(tableSummary(report));
    return countsOf(report.outcomes).failed === 0 ? EXIT.ok : EXIT.failed;
  },
};

async function run({ deployed, checks, json }: SmokeArguments, terminal: Terminal): Promise<Report> {
  const startedAt = Date.now();
  const startedMono = performance.now();
  const started: { options: SmokeOptions; close(): Promise<void> } =
    deployed === undefined ? await bootOrExplain() : { options: deployed, close: async () => undefined };
  // Rows come as the checks end: they are the progress too. A report for machines leaves the terminal free for it.
  const stream = json ? terminal.stderr : terminal.stdout;
  const colour = isTerminal(stream) && !terminal.env['NO_COLOR'];
  const onOutcome = (outcome: Outcome) => {
    if (!json || isTerminal(stream)) stream.write(tableRow(outcome, colour));
  };
  try {
    const outcomes = await runChecks(checks, started.options, { onOutcome });
    const subject = deployed?.url ?? 'a gateway of this version';
    return { subject, startedAt, ms: performance.now() - startedMono, outcomes };
  } finally {
    await started.close();
  }
}

/** The configuration under test passes through a file, like any other. */
async function bootOrExplain(): ReturnType<typeof boot> {
  try {
    return await boot();
  } catch (error) {
    const { syscall, path, code } = error as NodeJS.ErrnoException;
    if (syscall !== 'mkdtemp') throw error;
    throw new CliError(
      `no temporary folder can be made (${path}: ${code}); set TMPDIR to a folder that can be written to`,
    );
  }
}

function isTerminal(stream: NodeJS.WritableStream): boolean {
  return 'isTTY' in stream && stream.isTTY === true;
}

function writeReport(file: string, text: string): void {
  try {
    writeFileSync(file, text);
  } catch (error) {
    throw new CliError(`cannot write the report ${file}: ${(error as NodeJS.ErrnoException).code}`);
  }
}
