import { parseArgs } from 'node:util';
import { jsonSchema } from '../config/schema.ts';
import { auditJsonSchema } from '../observe/audit-event.ts';
import { CliError, type Command, EXIT } from './command.ts';

const SCHEMAS = { config: jsonSchema, audit: auditJsonSchema };

export const schemaCommand: Command = {
  name: 'schema',
  summary: 'print the JSON Schema of the configuration file or of the audit log',
  help: `Usage: countersign schema [config | audit]

Prints the JSON Schema (2020-12) of the configuration file, for editors and linters, or of
one line of the audit log, for what reads it.

Options:
  --help   this text

Examples:
  countersign schema > countersign.schema.json
  countersign schema audit > audit.schema.json

Exit codes: 0 printed, 2 bad arguments.
`,
  async run(args, terminal) {
    const { positionals } = parseArgs({ args: [...args], allowPositionals: true, options: {} });
    const [name = 'config', ...more] = positionals;
    if (more.length > 0 || !Object.hasOwn(SCHEMAS, name)) throw new CliError('schema takes config or audit');
    const schema = SCHEMAS[name as keyof typeof SCHEMAS]();
    terminal.stdout.write(`${JSON.stringify(schema, null, 2)}\n`);
    return EXIT.ok;
  },
};
