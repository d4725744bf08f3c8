import { once } from 'node:events';
import { renameSync, writeFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { WebSocket } from 'ws';
import { configFile, doctor, startUpstream } from '../doctor/upstream.ts';
import { Authority, type Issued } from '../kit/certificates.ts';
import { FrontEnd, HOST, ORIGIN } from '../kit/front-end.ts';
import { KEYPAIR, startGateway } from '../kit/gateway.ts';
import { startReloadingGateway } from '../kit/reloading-gateway.ts';
import { startStrictUpstream } from '../kit/strict-upstream.ts';

let authority: Authority;
let stranger: Authority;
let loopback: Issued;
let internal: Issued;
let client: Issued;

beforeAll(() => {
  authority = new Authority();
  stranger = new Authority('a stranger');
  loopback = authority.issue(['IP:127.0.0.1']);
  internal = authority.issue(['DNS:api.internal']);
  client = authority.issue([]);
});
afterAll(() => {
  authority.remove();
  stranger.remove();
});

const source = ({ certFile, keyFile }: Issued) => ({ cert: certFile, key: { file: keyFile } });
const shown = ({ cert, key }: Issued) => ({ cert, key });
const ca = () => authority.ca.certFile;

async function handshake(port: number, cookie: string): Promise<number> {
  const socket = new WebSocket(`ws://127.0.0.1:${port}/v2/stream`, {
    headers: { Host: HOST, Cookie: cookie, 'Sec-Fetch-Site': 'same-origin' },
  });
  const status = await Promise.race([
    once(socket, 'open').then(() => 101),
    once(socket, 'unexpected-response').then(([, response]) => (response as { statusCode: number }).statusCode),
  ]);
  socket.on('error', () => {}).terminate();
  return status;
}

/** What a page gets from an upstream with this identity, by the gateway's `tls`: of a request and of a WebSocket. */
async function outcome(serverTls: object, tls: object | undefined, signedHost?: string) {
  const { gateway, upstream } = await startGateway({
    tls: serverTls,
    upstream: { ...(tls && { tls }), ...(signedHost && { signedHost }) },
    respond: async ({ rawHeaders }, answer) => {
      if (rawHeaders.some(([name]) => name.toLowerCase() === 'upgrade')) await answer.webSocket();
    },
  });
  onTestFinished(async () => {
    await gateway.close();
    await upstream.close();
  });
  const page = await FrontEnd.signIn(gateway.port);
  const response = await page.fetch('POST', '/v2/x', { body: '{}' });
  return { statuses: [response.status, await handshake(gateway.port, page.cookie)], upstream };
}

async function findingsOf(serverTls: object, tls: object | undefined) {
  const { origin } = await startUpstream({ tls: serverTls });
  const { findings } = await doctor(configFile({ endpoints: [origin], ...(tls && { tls }) }));
  return findings;
}

const demanding = () => ({ ...shown(loopback), ca: authority.ca.cert, requestCert: true, rejectUnauthorized: true });

/** What is tried, at the upstream and at the gateway, and what doctor says of it. */
const REFUSED: [string, () => object, () => object | undefined, { code: string; says?: RegExp; hint?: RegExp }][] = [
  [
    'an authority nobody knows here',
    () => shown(loopback),
    () => undefined,
    { code: 'certificate-untrusted', hint: /upstream\.tls\.ca/ },
  ],
  [
    'another authority than the configured one',
    () => shown(loopback),
    () => ({ ca: stranger.ca.certFile }),
    { code: 'certificate-untrusted', hint: /upstream\.tls\.ca/ },
  ],
  [
    'another name than its address',
    () => shown(internal),
    () => ({ ca: ca() }),
    { code: 'certificate-untrusted', says: /for another name\. It is for api\.internal/, hint: /serverName/ },
  ],
  [
    'another name than the configured one',
    () => shown(internal),
    () => ({ ca: ca(), serverName: 'other.internal' }),
    { code: 'certificate-untrusted', says: /for another name/ },
  ],
  [
    'a wish for a client certificate that is not configured',
    demanding,
    () => ({ ca: ca() }),
    { code: 'no-answer', says: /asks for a client certificate/, hint: /clientCertificate/ },
  ],
];

describe('an upstream with', () => {
  it.each(REFUSED)('%s gets nothing, and doctor says why', async (_, serverTls, tls, expected) => {
    const { statuses, upstream } = await outcome(serverTls(), tls());
    expect(statuses).toEqual([502, 502]);
    expect(upstream.heads).toEqual([]);
    const { code, says = /./, hint = /./ } = expected;
    expect(await findingsOf(serverTls(), tls())).toMatchObject([
      { code, says: expect.stringMatching(says), hint: expect.stringMatching(hint) },
    ]);
  });

  it.each<[string, () => object, () => object]>([
    ['the configured authority', () => shown(loopback), () => ({ ca: ca() })],
    ['the configured name', () => shown(internal), () => ({ ca: ca(), serverName: 'api.internal' })],
    ['a wish for a client certificate', demanding, () => ({ ca: ca(), clientCertificate: source(client) })],
  ])('%s gets requests and WebSockets, and doctor has no objection', async (_, serverTls, tls) => {
    const { statuses, upstream } = await outcome(serverTls(), tls());
    expect(statuses).toEqual([200, 101]);
    expect(upstream.requests.map(({ verdict }) => verdict.why)).toEqual(['verified', 'verified']);
    expect(upstream.requests[0]?.text).toContain(`127.0.0.1:${upstream.port}\r\n`);
    expect(await findingsOf(serverTls(), tls())).toEqual([]);
  });

  it('the configured name is asked for it, by requests and WebSockets alike', async () => {
    const asked: string[] = [];
    const serverTls = {
      ...shown(internal),
      SNICallback: (name: string, choose: (error: null, context: undefined) => void) => {
        asked.push(name);
        choose(null, undefined);
      },
    };
    const { statuses } = await outcome(serverTls, { ca: ca(), serverName: 'api.internal' }, 'api.example');
    expect(statuses).toEqual([200, 101]);
    expect(asked).toEqual(['api.internal', 'api.internal']);
  });
});

it('a client certificate that is renewed is shown from then on', async () => {
  const [first, second] = [authority.issue(['DNS:first']), authority.issue(['DNS:second'])];
  const current = authority.issue(['DNS:current']);
  const put = ({ cert, key }: Issued) => {
    for (const [file, text] of [
      [current.certFile, cert],
      [current.keyFile, key],
    ] as const) {
      writeFileSync(`${file}.new`, text);
      renameSync(`${file}.new`, file);
    }
  };
  put(first);
  const peers: string[] = [];
  const upstream = await startStrictUpstream({
    keypairs: { [KEYPAIR.accessKey]: KEYPAIR.secretKey },
    tls: demanding(),
    onSecure: (socket) => void peers.push(String(socket.getPeerCertificate().subject.CN)),
  });
  onTestFinished(() => upstream.close());
  const gateway = await startReloadingGateway({
    listen: { port: 0 },
    tenants: {
      acme: {
        origins: [ORIGIN],
        upstream: {
          endpoints: [upstream.origin],
          version: 'v4.20190315',
          tls: { ca: ca(), clientCertificate: source(current) },
        },
        keypairs: { visitor: KEYPAIR },
        login: { visitor: { role: 'visitor' } },
        routes: [{ path: '/v2', roles: ['visitor'] }],
      },
    },
  });
  onTestFinished(() => gateway.close());
  const page = await FrontEnd.signIn(gateway.port);
  expect((await page.fetch('GET', '/v2/a')).status).toBe(200);
  const reloaded = new Promise((resolve) => gateway.config.onReload(resolve));
  put(second);
  expect(await reloaded).toMatchObject({ ok: true });
  expect((await page.fetch('GET', '/v2/b')).status).toBe(200);
  expect(peers).toEqual(['first', 'second']);
});
