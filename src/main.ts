#!/usr/bin/env node
import { runCli } from './cli/cli.ts';
import { runAsProcess } from './cli/process.ts';

const args = process.argv.slice(2);
await runAsProcess(process, args[0] ?? '', (terminal) => runCli(args, terminal));
