import { parseArgs } from 'node:util';
import { ConfigError } from '../config/fault.ts';
import { type LoadedConfig, loadConfig } from '../config/load.ts';
import type { Witness } from '../doctor/clock.ts';
import { examine, readClock } from '../doctor/examine.ts';
import { troubleOf } from '../doctor/network-error.ts';
import { findingsOf } from '../doctor/report.ts';
import type { Tenant } from '../tenant.ts';
import { CliError, type Command, DEFAULT_FILE, EXIT, type Terminal } from './command.ts';
import { doctorTable } from './doctor-table.ts';
import { progressOn } from './progress.ts';
import { columnsOf, styleOf } from './style.ts';

export const doctorCommand: Command = {
  name: 'doctor',
  summary: 'find out why an upstream refuses, endpoint by endpoint and keypair by keypair',
  help: `Usage: countersign doctor [FILE] [options]

For each endpoint and keypair of the configuration in FILE (default: ${DEFAULT_FILE}): resolves the name, connects,
checks TLS, measures the clock, signs GET /v2, and reads version and quota. A refused request is signed in other ways
until one is accepted, which names the cause: clock, host, dialect or secret. Shows the string to sign; never a secret,
a signing key or a signature.

It only reads: GET of /v2, and a REPORT of it with a small body to see whether bodies are hashed. An endpoint where
all is well gets one request without a signature, one for each keypair, and six more, four of them to be refused; a
keypair that is refused costs up to fifty.

Options:
  --tenant NAME   this tenant only; may be repeated
  --clock URL     a server whose clock is right, to settle whose is wrong when two differ
  --json          the report as JSON: {ok, file, tenants, findings}, or {ok, file, faults}
  --help          this text

Examples:
  countersign doctor /etc/countersign/countersign.yaml
  countersign doctor countersign.yaml --tenant acme --clock https://time.example
  countersign doctor --json countersign.yaml

Exit codes: 0 no finding (there may be warnings), 1 a finding, 2 bad arguments or a faulty configuration.
`,
  async run(args, terminal) {
    const { values, positionals } = parseArgs({
      args: [...args],
      allowPositionals: true,
      options: {
        tenant: { type: 'string', multiple: true, default: [] },
        clock: { type: 'string' },
        json: { type: 'boolean', default: false },
      },
    });
    if (positionals.length > 1) throw new CliError('doctor takes one FILE at most');
    const file = positionals[0] ?? DEFAULT_FILE;
    const config = load(file, values.json, terminal);
    if (config === undefined) return EXIT.usage;
    const tenants = select(config.snapshot.tenants, values.tenant);
    const witnesses = values.clock === undefined ? [] : [await witnessAt(values.clock)];

    const progress = progressOn(terminal);
    const onProgress = (doing: string) => progress.show(doing);
    const reports = await examine({ tenants, witnesses, now: Date.now, onProgress }).finally(() => progress.done());

    const findings = findingsOf(reports);
    const ok = findings.every(({ status }) => status !== 'failed');
    if (values.json) {
      print(terminal, { ok, file, tenants: reports, findings });
    } else {
      const { stdout, stderr, env } = terminal;
      stdout.write(doctorTable(reports, styleOf(stdout, env), columnsOf(stdout)));
      const isRefused = findings.some(({ code }) => code === 'connection-failed');
      if (isRefused && config.service !== undefined) {
        stderr.write('The reference Service of this configuration runs while `countersign serve` does.\n');
      }
    }
    return ok ? EXIT.ok : EXIT.failed;
  },
};

/** The configuration; undefined when its faults were printed as JSON. Throws `CliError` with them otherwise. */
function load(file: string, asJson: boolean, terminal: Terminal): LoadedConfig | undefined {
  try {
    return loadConfig(file, terminal.env);
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    if (!asJson) throw new CliError(error.message);
    print(terminal, { ok: false, file, faults: error.faults });
    return undefined;
  }
}

function select(tenants: readonly Tenant[], names: readonly string[]): readonly Tenant[] {
  const unknown = names.find((name) => !tenants.some((tenant) => tenant.name === name));
  if (unknown !== undefined) {
    throw new CliError(`no tenant "${unknown}"; there are: ${tenants.map(({ name }) => name).join(', ')}`);
  }
  return names.length === 0 ? tenants : tenants.filter(({ name }) => names.includes(name));
}

async function witnessAt(url: string): Promise<Witness> {
  if (!/^https?:$/.test(URL.parse(url)?.protocol ?? ''))
    throw new CliError(`--clock must be an http or https URL, not ${url}`);
  try {
    const witness = await readClock(url, Date.now);
    if (witness !== undefined) return witness;
  } catch (error) {
    throw new CliError(`--clock ${url}: ${troubleOf(error).says}`);
  }
  throw new CliError(`--clock ${url}: its answer has no Date header`);
}

function print({ stdout }: Terminal, value: object): void {
  stdout.write(`${JSON.stringify(value, null, 2)}\n`);
}
