import { ask, unexpected } from '../ask.ts';
import { refusesStrangers } from '../checks/strangers.ts';
import type { Children } from '../children.ts';
import type { Peer } from '../peer.ts';
import { freePort } from '../port.ts';
import { programPath } from '../servers/path.ts';
import type { Seen } from '../upstream-reply.ts';
import { requireGoProgram } from './go.ts';

const CLIENT = 'bench';

/** Its session is the cookie itself, encrypted: each request decrypts it. It tells the upstream who asks, and signs nothing. */
export const oauth2Proxy: Peer = {
  name: 'oauth2-proxy',
  title: 'oauth2-proxy (Go), encrypted session cookie, no signature',
  required: false,
  async start({ children, upstreamPort }) {
    const { program, versions } = requireGoProgram('oauth2-proxy');
    const issuer = await startProvider(children);
    const port = await freePort();
    const server = await children.serve(port, {
      place: 'proxy',
      command: [program, ...flags(port, upstreamPort, issuer)],
    });
    const cookie = await signIn(port);
    return { ...server, cookie, versions, check: () => refusesStrangers(port), judge: namesTheUser };
  },
};

async function startProvider(children: Children): Promise<string> {
  const port = await freePort();
  await children.serve(port, { place: 'rest', command: [process.execPath, programPath('oidc.ts'), `${port}`, CLIENT] });
  return `http://127.0.0.1:${port}`;
}

function flags(port: number, upstreamPort: number, issuer: string): string[] {
  const settings = {
    'http-address': `127.0.0.1:${port}`,
    upstream: `http://127.0.0.1:${upstreamPort}/`,
    'redirect-url': `http://127.0.0.1:${port}/oauth2/callback`,
    provider: 'oidc',
    'oidc-issuer-url': issuer,
    'skip-oidc-discovery': 'true',
    'login-url': `${issuer}/authorize`,
    'redeem-url': `${issuer}/token`,
    'oidc-jwks-url': `${issuer}/keys`,
    'client-id': CLIENT,
    'client-secret': 'not-for-production-use',
    'cookie-secret': '0123456789abcdef0123456789abcdef',
    'cookie-secure': 'false',
    'email-domain': '*',
    'request-logging': 'false',
    'auth-logging': 'false',
    'standard-logging': 'false',
  };
  return Object.entries(settings).map(([name, value]) => `--${name}=${value}`);
}

/** What a browser does: it is sent to the provider with a state, and comes back with a code. */
async function signIn(port: number): Promise<string> {
  const start = await ask(port, { method: 'GET', path: '/oauth2/start', headers: {} });
  const location = start.headers['location'];
  if (start.status !== 302 || typeof location !== 'string') throw unexpected('the start of the login', start);
  const sent = new URL(location).searchParams;
  const back = new URLSearchParams({ code: 'granted', state: sent.get('state') ?? '' });
  const answer = await ask(port, {
    method: 'GET',
    path: `/oauth2/callback?${back}`,
    headers: { Cookie: cookies(start.headers['set-cookie']) },
  });
  const cookie = cookies(answer.headers['set-cookie']);
  if (answer.status !== 302 || !cookie.startsWith('_oauth2_proxy=')) throw unexpected('the login', answer);
  return cookie;
}

/** The Cookie header for what was set; a cookie that was set to nothing is gone. */
function cookies(set: string | string[] | undefined): string {
  const pairs = [set ?? []].flat().map((each) => each.split(';', 1)[0] ?? '');
  return pairs.filter((pair) => pair.indexOf('=') < pair.length - 1).join('; ');
}

function namesTheUser({ headers }: Seen): void {
  const named = headers.some(([name, value]) => /^x-forwarded-email$/i.test(name) && value === 'bench@service.example');
  if (!named) throw new Error('does not say who asks');
}
