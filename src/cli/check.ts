import { parseArgs } from 'node:util';
import { type Fault, formatFault } from '../config/fault.ts';
import { readConfig } from '../config/load.ts';
import { CliError, type Command, DEFAULT_FILE, EXIT } from './command.ts';
import { renderFaults } from './fault-report.ts';
import { styleOf } from './style.ts';

export const checkCommand: Command = {
  name: 'check',
  summary: 'find every fault of a configuration file',
  help: `Usage: countersign check [FILE] [--strict] [--json]

Reads the configuration in FILE (default: ${DEFAULT_FILE}) with the users and secret files
it names, exactly as serve would, and reports every fault at once: its place, what is
there, what was expected, and what to do. Settings that work but are dangerous are
warnings. A value that may be a secret is never repeated. Nothing is started.

Options:
  --strict   warnings are faults
  --json     one JSON object: {ok, file, faults, warnings}; each fault is
             {file, line, column, path, message, found?, expected?, hint?}
  --help     this text

Examples:
  countersign check config/demo.yaml
  countersign check --strict --json /etc/countersign/countersign.yaml

Exit codes: 0 sound (warnings or not), 1 faults, 2 FILE cannot be read.
`,
  async run(args, terminal) {
    const { positionals, values } = parseArgs({
      args: [...args],
      allowPositionals: true,
      options: { strict: { type: 'boolean' }, json: { type: 'boolean' } },
    });
    if (positionals.length > 1) throw new CliError('check takes one FILE at most');
    const file = positionals[0] ?? DEFAULT_FILE;
    const reading = readConfig(file, terminal.env);
    const [fault] = reading.faults;
    if (reading.unreadable && fault !== undefined) throw new CliError(formatFault(fault));

    const isStrict = values.strict === true;
    const faults = isStrict ? [...reading.faults, ...reading.warnings] : reading.faults;
    const warnings = isStrict ? [] : reading.warnings;
    const ok = faults.length === 0;
    if (values.json) {
      terminal.stdout.write(`${JSON.stringify({ ok, file, faults, warnings }, null, 2)}\n`);
    } else {
      terminal.stdout.write(renderFaults(faults, warnings, styleOf(terminal.stdout, terminal.env)));
      terminal.stdout.write(`${summary(file, faults, warnings)}\n`);
    }
    return ok ? EXIT.ok : EXIT.failed;
  },
};

function summary(file: string, faults: readonly Fault[], warnings: readonly Fault[]): string {
  const count = (number: number, noun: string) => `${number} ${noun}${number === 1 ? '' : 's'}`;
  const counts = [
    faults.length > 0 ? count(faults.length, 'fault') : 'sound',
    ...(warnings.length > 0 ? [count(warnings.length, 'warning')] : []),
  ];
  return `${file}: ${counts.join(', ')}`;
}
