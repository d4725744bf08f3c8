import { parseArgs } from 'node:util';
import { jsonSchema } from '../config/schema.ts';
import { type Command, EXIT } from './command.ts';

export const schemaCommand: Command = {
  name: 'schema',
  summary: 'print the JSON Schema of the configuration file',
  help: `Usage: countersign schema

Prints the JSON Schema (2020-12) of the configuration file, for editors and linters.

Example:
  countersign schema > countersign.schema.json
`,
  async run(args, terminal) {
    parseArgs({ args: [...args], options: {} });
    terminal.stdout.write(`${JSON.stringify(jsonSchema(), null, 2)}\n`);
    return EXIT.ok;
  },
};
