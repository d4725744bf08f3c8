import { isIPv4 } from 'node:net';
import { parseArgs } from 'node:util';
import { Secret } from '../secret.ts';
import { DEMO_KEYPAIRS } from '../service/demo-keypairs.ts';
import { type RunningService, type ServiceKeypair, type ServiceOptions, startService } from '../service/server.ts';
import { DIALECTS, type DialectName } from '../signing/dialect.ts';
import { CliError, type Command, EXIT, type Terminal } from './command.ts';

const HELP = `Usage: countersign service [options]

Runs the reference Service: an upstream that checks every signature and keeps its state in memory.

Options:
  --host <host>              address to listen on (127.0.0.1)
  --port <port>              port to listen on, 0 for any (8081)
  --access-key <key>         access key of the one administrator keypair; with --secret-key-env
  --secret-key-env <name>    environment variable that holds its secret key
  --rate-limit <requests>    requests per window and access key (30000)
  --window <seconds>         length of the rolling window (900)
  --brand <brand>            header names and signing rules: ${Object.keys(DIALECTS).join(' or ')} (service)
  --clock-offset=<seconds>   shifts the Service's clock, to see how a client copes
  --help                     this text

Without keys it knows the published demo keypairs and listens on loopback only.

Examples:
  countersign service
  SECRET=… countersign service --port 9000 --access-key AKIAEXAMPLE --secret-key-env SECRET
  countersign service --clock-offset=-600

Exit codes: 0 stopped by a signal, 1 it cannot listen, 2 bad arguments.
`;

const OPTIONS = {
  host: { type: 'string', default: '127.0.0.1' },
  port: { type: 'string', default: '8081' },
  'access-key': { type: 'string' },
  'secret-key-env': { type: 'string' },
  'rate-limit': { type: 'string', default: '30000' },
  window: { type: 'string', default: '900' },
  brand: { type: 'string', default: 'service' },
  'clock-offset': { type: 'string', default: '0' },
  help: { type: 'boolean', short: 'h', default: false },
} as const;

/** Runs the reference Service until SIGTERM or SIGINT. */
export const serviceCommand: Command = {
  name: 'service',
  summary: 'run the reference Service, an upstream to try things out with',
  help: HELP,
  async run(args, terminal) {
    const values = parse(args);
    if (values.help) {
      terminal.stdout.write(HELP);
      return EXIT.ok;
    }
    const own = ownKeypair(values['access-key'], values['secret-key-env'], terminal.env);
    if (own === undefined && !isLoopback(values.host)) {
      throw new CliError(`the demo keypairs are public: --host ${values.host} needs --access-key and --secret-key-env`);
    }
    const offset = integer('clock-offset', values['clock-offset'], -1_000_000_000, 1_000_000_000) * 1000;
    const service = await start({
      host: values.host,
      port: integer('port', values.port, 0, 65_535),
      keypairs: own === undefined ? DEMO_KEYPAIRS : [own],
      dialect: DIALECTS[brand(values.brand)],
      rateLimit: {
        requests: integer('rate-limit', values['rate-limit'], 1, 10_000_000),
        window: integer('window', values.window, 1, 86_400) * 1000,
      },
      clock: () => Date.now() + offset,
    });
    if (own === undefined) announceDemo(terminal);
    terminal.stdout.write(`The reference Service listens on ${service.origin}\n`);
    await stopSignal();
    await service.close();
    return EXIT.ok;
  },
};

function parse(args: readonly string[]) {
  try {
    return parseArgs({ args: [...args], options: OPTIONS }).values;
  } catch (error) {
    throw new CliError(error instanceof Error ? error.message : String(error));
  }
}

function ownKeypair(
  accessKey: string | undefined,
  variable: string | undefined,
  env: Terminal['env'],
): ServiceKeypair | undefined {
  if (accessKey === undefined && variable === undefined) return undefined;
  if (accessKey === undefined || variable === undefined) {
    throw new CliError('--access-key and --secret-key-env belong together');
  }
  if (!/^[^\s:,]{1,256}$/.test(accessKey)) throw new CliError('--access-key must have no white space, colon or comma');
  const secret = env[variable];
  if (secret === undefined || secret === '') throw new CliError(`the environment variable ${variable} is not set`);
  return { accessKey, secretKey: new Secret(secret), isAdmin: true };
}

function announceDemo(terminal: Terminal): void {
  terminal.stderr.write(
    'The demo keypairs are public; anyone who reaches this listener can sign. Keep it on loopback.\n',
  );
  for (const { accessKey, secretKey, isAdmin } of DEMO_KEYPAIRS) {
    terminal.stderr.write(`  ${isAdmin ? 'administrator' : 'visitor'}  ${accessKey}  ${secretKey.reveal()}\n`);
  }
}

function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '::1' || (isIPv4(host) && host.startsWith('127.'));
}

function brand(name: string): DialectName {
  if (!Object.hasOwn(DIALECTS, name)) throw new CliError(`--brand must be ${Object.keys(DIALECTS).join(' or ')}`);
  return name as DialectName;
}

function integer(option: string, text: string, min: number, max: number): number {
  const value = /^-?\d{1,10}$/.test(text) ? Number(text) : Number.NaN;
  if (!(value >= min && value <= max)) {
    throw new CliError(`--${option} must be a whole number from ${min} to ${max}, not ${text}`);
  }
  return value;
}

async function start(options: ServiceOptions): Promise<RunningService> {
  try {
    return await startService(options);
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    const reason = code === 'EADDRINUSE' ? `port ${options.port} on ${options.host} is in use` : message;
    throw new CliError(`the Service cannot listen: ${reason}`, EXIT.failed);
  }
}

function stopSignal(): Promise<void> {
  return new Promise((resolve) => {
    const stop = () => {
      process.off('SIGTERM', stop);
      process.off('SIGINT', stop);
      resolve();
    };
    process.on('SIGTERM', stop);
    process.on('SIGINT', stop);
  });
}
