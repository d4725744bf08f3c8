import { parseArgs } from 'node:util';
import type { Check } from '../smoke/check.ts';
import { CHECKS } from '../smoke/checks/all.ts';
import type { Credentials, SmokeOptions } from '../smoke/context.ts';
import { CliError, type Terminal } from './command.ts';

const OPTIONS = {
  url: { type: 'string' },
  tenant: { type: 'string' },
  login: { type: 'string' },
  username: { type: 'string' },
  'password-env': { type: 'string' },
  mutations: { type: 'boolean', default: false },
  junit: { type: 'string' },
  json: { type: 'boolean', default: false },
  only: { type: 'string', multiple: true },
  list: { type: 'boolean', default: false },
} as const;

/** The command line, understood. */
export interface SmokeArguments {
  /** Undefined: boot a gateway of our own. */
  readonly deployed: (SmokeOptions & { readonly url: string }) | undefined;
  readonly checks: readonly Check[];
  readonly junit: string | undefined;
  readonly json: boolean;
  readonly list: boolean;
}

/** Throws `CliError` for what does not go together. */
export function smokeArguments(args: readonly string[], env: Terminal['env']): SmokeArguments {
  const { values, positionals } = parseArgs({ args: [...args], options: OPTIONS, allowPositionals: true });
  const { url, only, junit, json, list, tenant, mutations } = values;
  if (positionals.length > 0 && only === undefined) throw new CliError(`smoke takes no argument ${positionals[0]}`);
  for (const name of ['tenant', 'login', 'username', 'password-env', 'mutations'] as const) {
    if (url === undefined && values[name]) throw new CliError(`--${name} goes with --url`);
  }
  const login = loginOf(values, env);
  const secrets = typeof login === 'object' && login['password'] !== undefined ? [login['password']] : [];
  return {
    deployed: url === undefined ? undefined : { url, site: siteOf(url), login, tenant, mutations, secrets },
    checks: only === undefined ? CHECKS : selected([...only, ...positionals]),
    junit,
    json,
    list,
  };
}

function loginOf(
  { login, username, 'password-env': variable }: ReturnType<typeof parseArgs<{ options: typeof OPTIONS }>>['values'],
  env: Terminal['env'],
): Credentials | 'none' | undefined {
  if (login !== 'password' && (username !== undefined || variable !== undefined)) {
    throw new CliError('--username and --password-env go with --login password');
  }
  switch (login) {
    case undefined:
    case 'none':
      return login;
    case 'visitor':
      return { method: 'visitor' };
    case 'password': {
      if (username === undefined || variable === undefined) {
        throw new CliError('--login password needs --username and --password-env');
      }
      const password = env[variable];
      if (!password) throw new CliError(`the environment variable ${variable} is not set`);
      return { method: 'password', username, password };
    }
    default:
      throw new CliError(`--login must be visitor, password or none, not ${login}`);
  }
}

function siteOf(text: string): SmokeOptions['site'] {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url === undefined || !/^https?:$/.test(url.protocol) || url.username !== '' || url.search + url.hash !== '') {
    throw new CliError('--url must be an http or https URL, such as https://console.acme.example');
  }
  const tls = url.protocol === 'https:';
  const host = url.hostname.replace(/^\[|\]$/g, '');
  const port = url.port === '' ? (tls ? 443 : 80) : Number(url.port);
  return { address: { host, port, tls }, origin: url.origin, mount: url.pathname.replace(/\/$/, '') };
}

/** By id, or a whole group by its name, in the order of their running. */
function selected(names: readonly string[]): Check[] {
  const wanted = names.flatMap((name) => name.split(',')).filter((name) => name !== '');
  for (const name of wanted) {
    if (CHECKS.some((check) => matches(check, name))) continue;
    throw new CliError(`there is no check "${name}"; countersign smoke --list shows them`);
  }
  return CHECKS.filter((check) => wanted.some((name) => matches(check, name)));
}

function matches({ id }: Check, name: string): boolean {
  return id === name || id.startsWith(`${name}.`);
}
