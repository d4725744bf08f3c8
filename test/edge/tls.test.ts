import { spawn } from 'node:child_process';
import { X509Certificate } from 'node:crypto';
import { once } from 'node:events';
import { renameSync, symlinkSync, unlinkSync, writeFileSync } from 'node:fs';
import { connect as connectHttp2 } from 'node:http2';
import { connect as connectPlain } from 'node:net';
import { join } from 'node:path';
import { type ConnectionOptions, connect, type TLSSocket } from 'node:tls';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { WebSocket } from 'ws';
import { drain } from '../../src/process/lifecycle.ts';
import { folderOf } from '../config/fixture.ts';
import { Authority, type Issued } from '../kit/certificates.ts';
import { FrontEnd, HOST, ORIGIN } from '../kit/front-end.ts';
import { KEYPAIR, type StartOptions, startGateway } from '../kit/gateway.ts';
import { FRAME, FrameClient } from '../kit/http2-frames.ts';
import { RawClient } from '../kit/raw-client.ts';
import { startReloadingGateway } from '../kit/reloading-gateway.ts';

let authority: Authority;
let stranger: Authority;
let console_: Issued;
let other: Issued;

beforeAll(() => {
  authority = new Authority();
  stranger = new Authority('a stranger');
  console_ = authority.issue([`DNS:${HOST}`, 'IP:127.0.0.1']);
  other = authority.issue(['DNS:*.other.test']);
});
afterAll(() => {
  authority.remove();
  stranger.remove();
});

const source = ({ certFile, keyFile }: Issued) => ({ cert: certFile, key: { file: keyFile } });

async function start(options: StartOptions = {}, tls: object = {}) {
  const certificates = [source(console_), source(other)];
  const started = await startGateway({ ...options, listen: { tls: { certificates, ...tls }, ...options.listen } });
  onTestFinished(async () => {
    await started.gateway.close();
    await started.upstream.close();
  });
  return started;
}

async function shakeHands(port: number, options: ConnectionOptions = {}): Promise<TLSSocket> {
  const socket = connect({ port, host: '127.0.0.1', ca: authority.ca.cert, servername: HOST, ...options });
  onTestFinished(() => void socket.destroy());
  await once(socket, 'secureConnect');
  socket.on('error', () => undefined);
  return socket;
}

async function signIn(port: number): Promise<FrontEnd> {
  const visitor = new FrontEnd(port, '');
  const client = await RawClient.overTls(port, { ca: authority.ca.cert, servername: HOST });
  const response = await visitor.fetch('POST', '/-/session', { body: '{"method":"visitor"}' }, client);
  client.destroy();
  return new FrontEnd(port, response.header('set-cookie')?.split(';')[0] ?? '');
}

describe('a handshake', () => {
  it.each([
    [['h2', 'http/1.1'], 'h2'],
    [['http/1.1'], 'http/1.1'],
    [undefined, false],
  ])('that offers %j settles on %j', async (offered, settled) => {
    const { gateway } = await start();
    expect((await shakeHands(gateway.port, { ALPNProtocols: offered })).alpnProtocol).toBe(settled);
  });

  it.each([
    [HOST, HOST],
    ['a.other.test', '*.other.test'],
    ['nobody.test', HOST],
    ['-..--', HOST],
    ['', HOST],
  ])('that asks for %j gets the certificate of %j', async (servername, subject) => {
    const { gateway } = await start();
    const socket = await shakeHands(gateway.port, { servername, checkServerIdentity: () => undefined });
    expect(socket.getPeerCertificate().subject.CN).toBe(subject);
  });

  it('is one of TLS 1.2 at least, or of 1.3 where the operator says so', async () => {
    const { gateway } = await start();
    expect((await shakeHands(gateway.port, { maxVersion: 'TLSv1.2' })).getProtocol()).toBe('TLSv1.2');
    await expect(shakeHands(gateway.port, { minVersion: 'TLSv1.1', maxVersion: 'TLSv1.1' })).rejects.toThrow();
    const { gateway: strict } = await start({}, { minVersion: 'TLSv1.3' });
    await expect(shakeHands(strict.port, { maxVersion: 'TLSv1.2' })).rejects.toMatchObject({
      code: 'ERR_SSL_TLSV1_ALERT_PROTOCOL_VERSION',
    });
    expect((await shakeHands(strict.port)).getProtocol()).toBe('TLSv1.3');
  });

  it('needs a certificate of the clients’ authority where there is one', async () => {
    const { gateway } = await start({}, { clientCa: authority.ca.certFile });
    const served = async (identity: Issued | undefined) => {
      const options = {
        ca: authority.ca.cert,
        servername: HOST,
        ...(identity && { cert: identity.cert, key: identity.key }),
      };
      const client = await RawClient.overTls(gateway.port, options);
      const response = await client.send(`GET /-/livez HTTP/1.1\r\nHost: ${HOST}\r\n\r\n`).response();
      client.destroy();
      return response?.status;
    };
    expect(await served(authority.issue([]))).toBe(200);
    expect(await served(stranger.issue([]))).toBeUndefined();
    expect(await served(undefined)).toBeUndefined();
  });

  it('that never comes, or is none, is given up on', async () => {
    const { gateway } = await start({ listen: { headerTimeout: '300ms' } });
    const silent = connectPlain(gateway.port, '127.0.0.1');
    const plain = connectPlain(gateway.port, '127.0.0.1').resume();
    const mute = await shakeHands(gateway.port, { ALPNProtocols: ['h2'] });
    const closed = [silent, plain, mute].map((socket) => once(socket.on('error', () => undefined).resume(), 'close'));
    plain.write(`GET /v2 HTTP/1.1\r\nHost: ${HOST}\r\n\r\n`);
    await Promise.all(closed);
    expect((await shakeHands(gateway.port)).authorized).toBe(true);
  });
});

describe('HTTP/1.1 over TLS', () => {
  it('is relayed, its connection kept', async () => {
    const { gateway, upstream } = await start();
    const page = await signIn(gateway.port);
    const client = await RawClient.overTls(gateway.port, { ca: authority.ca.cert, servername: HOST });
    for (const target of ['/v2/a', '/v2/b']) {
      expect((await page.fetch('POST', target, { body: '{}' }, client)).status).toBe(200);
    }
    client.destroy();
    expect(upstream.requests.map(({ verdict }) => verdict.why)).toEqual(['verified', 'verified']);
  });

  it('breaks with the upstream’s answer', async () => {
    const { gateway } = await start({
      respond: async (_, answer) => {
        await (await answer.chunked()).chunk('only this');
        answer.reset();
      },
    });
    const page = await signIn(gateway.port);
    const client = await RawClient.overTls(gateway.port, { ca: authority.ca.cert, servername: HOST });
    const response = await client.send(page.bytes('GET', '/v2/x')).response();
    if (response?.status === 200) expect(response.complete).toBe(false);
    else expect(response?.status).toBe(502);
    await client.closed();
  });

  // Without chunks the end of the connection is the end of the answer: TLS tells a proper one by its close_notify.
  it('breaks off an HTTP/1.0 client without the end that TLS has', async () => {
    const seen = Promise.withResolvers<void>();
    const { gateway } = await start({
      respond: async (_, answer) => {
        await (await answer.chunked()).chunk('only this');
        await seen.promise;
        answer.reset();
      },
    });
    const page = await signIn(gateway.port);
    const peer = spawn('openssl', ['s_client', '-quiet', '-connect', `127.0.0.1:${gateway.port}`], { stdio: 'pipe' });
    let [out, err] = ['', ''];
    const arrived = Promise.withResolvers<void>();
    peer.stdout.on('data', (bytes) => {
      out += bytes;
      if (out.includes('only this')) arrived.resolve();
    });
    peer.stderr.on('data', (bytes) => {
      err += bytes;
    });
    peer.stdin.write(page.bytes('GET', '/v2/x').toString('latin1').replace('HTTP/1.1', 'HTTP/1.0'));
    await arrived.promise;
    seen.resolve();
    await once(peer, 'close');
    expect(err).toMatch(/unexpected eof|reset/i);
  });

  it('refuses what is no request, in words', async () => {
    const { gateway } = await start();
    const client = await RawClient.overTls(gateway.port, { ca: authority.ca.cert, servername: HOST });
    const response = await client.send('NONSENSE\r\n\r\n').response();
    expect(response?.json()).toMatchObject({ type: expect.stringMatching(/\/malformed-request$/) });
  });

  // Browsers open a WebSocket over HTTP/1.1 when the server does not offer them over HTTP/2 (RFC 8441 §3).
  it('carries WebSockets', async () => {
    const { gateway } = await start({
      respond: async (_, answer) => {
        const socket = await answer.webSocket();
        socket.on('message', (text) => socket.send(`you said ${text}`));
      },
    });
    const page = await signIn(gateway.port);
    const socket = new WebSocket(`wss://127.0.0.1:${gateway.port}/v2/stream`, [], {
      ca: authority.ca.cert,
      headers: { Host: HOST, Cookie: page.cookie, 'Sec-Fetch-Site': 'same-origin' },
    });
    await once(socket, 'open');
    const answered = once(socket, 'message');
    socket.send('hello');
    expect(String((await answered)[0])).toBe('you said hello');
    socket.terminate();
    const refused = new WebSocket(`wss://127.0.0.1:${gateway.port}/v2/stream`, [], {
      ca: authority.ca.cert,
      headers: { Host: HOST, Cookie: page.cookie, 'Sec-Fetch-Site': 'cross-site' },
    });
    const [, response] = await once(refused, 'unexpected-response');
    expect(response.statusCode).toBe(403);
    refused.on('error', () => undefined).terminate();
  });
});

describe('stopping', () => {
  it('lets streams finish and opens no more, on a connection that is told to go', async () => {
    const answered = Promise.withResolvers<void>();
    const { gateway, upstream } = await startGateway({
      listen: { tls: { certificates: [{ cert: kit('loopback.pem'), key: { file: kit('loopback.key') } }] } },
      respond: (_, answer) => answered.promise.then(() => answer.json(200, { done: true })),
    });
    onTestFinished(() => upstream.close());
    const session = connectHttp2(`https://127.0.0.1:${gateway.port}`, { rejectUnauthorized: false });
    const head = { ':authority': HOST, 'x-countersign': '1', 'content-type': 'application/json' };
    // Its answer is not read to the end, so this client never closes its side.
    const login = session.request({ ...head, ':method': 'POST', ':path': '/-/session' });
    login.end('{"method":"visitor"}');
    const [{ 'set-cookie': cookies }] = await once(login, 'response');
    const stream = session.request({ ...head, ':path': '/v2/x', cookie: cookies?.[0]?.split(';')[0] });
    await upstream.waitForRequest();
    const told = once(session, 'goaway');
    const idle = await FrameClient.connect(gateway.port);
    const drained = drain(gateway.server, 10_000, () => undefined);
    await Promise.all([told, idle.closed()]);
    expect(await idle.next(FRAME.GOAWAY, 0)).toBeDefined();
    await expect(shakeHands(gateway.port)).rejects.toMatchObject({ code: 'ECONNREFUSED' });
    answered.resolve();
    const [{ ':status': status }] = await once(stream, 'response');
    expect(status).toBe(200);
    stream.resume();
    expect(await drained).toBe(true);
    await gateway.watched.gateway.close();
  });

  it('breaks what does not finish in time', async () => {
    const { gateway, upstream } = await startGateway({
      listen: { tls: { certificates: [{ cert: kit('loopback.pem'), key: { file: kit('loopback.key') } }] } },
    });
    onTestFinished(() => upstream.close());
    const idle = await FrameClient.connect(gateway.port);
    idle.headers(
      1,
      [
        [':method', 'POST'],
        [':scheme', 'https'],
        [':authority', HOST],
        [':path', '/-/session'],
        ['content-type', 'application/json'],
        ['x-countersign', '1'],
      ],
      { endStream: false },
    );
    idle.ping();
    await idle.next(FRAME.PING, 0);
    expect(await drain(gateway.server, 200, () => undefined)).toBe(false);
    await idle.closed();
    await gateway.watched.gateway.close();
  });
});

function kit(name: string): string {
  return new URL(`../kit/tls/${name}`, import.meta.url).pathname;
}

describe('a certificate that is renewed', () => {
  const serialShown = async (port: number, servername = HOST) =>
    serialOf(await shakeHands(port, { servername, checkServerIdentity: () => undefined }));
  const serialIn = ({ cert }: Issued) => new X509Certificate(cert).serialNumber;
  const serialOf = (socket: TLSSocket) => socket.getPeerCertificate().serialNumber;

  function configOf(tls: object): object {
    return {
      listen: { port: 0, tls },
      tenants: {
        acme: {
          origins: [ORIGIN],
          upstream: { endpoints: ['http://127.0.0.1:1'], version: 'v4.20190315' },
          keypairs: { visitor: KEYPAIR },
          login: { visitor: { role: 'visitor' } },
          routes: [],
        },
      },
    };
  }

  async function serve(tls: object) {
    const gateway = await startReloadingGateway(configOf(tls));
    onTestFinished(() => gateway.close());
    const reloaded = () =>
      new Promise<Parameters<Parameters<typeof gateway.config.onReload>[0]>[0]>((resolve) => {
        const stop = gateway.config.onReload((result) => {
          stop();
          resolve(result);
        });
      });
    return { gateway, reloaded };
  }

  function replace(folder: string, files: Record<string, string>): void {
    for (const [name, text] of Object.entries(files)) {
      writeFileSync(join(folder, `${name}.new`), text);
      renameSync(join(folder, `${name}.new`), join(folder, name));
    }
  }

  const pair = ({ cert, key }: Issued) => ({ 'tls.crt': cert, 'tls.key': key });

  it('is shown from then on, and no connection is lost', async () => {
    const folder = folderOf(pair(console_));
    const { gateway, reloaded } = await serve({
      certificates: [{ cert: join(folder, 'tls.crt'), key: { file: join(folder, 'tls.key') } }],
    });
    const before = await RawClient.overTls(gateway.port, { ca: authority.ca.cert, servername: HOST });
    const next = authority.issue([`DNS:${HOST}`]);
    const taken = reloaded();
    replace(folder, pair(next));
    expect((await taken).faults).toEqual([]);
    expect(await serialShown(gateway.port)).toBe(serialIn(next));
    expect(await serialShown(gateway.port, '')).toBe(serialIn(next));
    const response = await before.send(`GET /-/livez HTTP/1.1\r\nHost: ${HOST}\r\n\r\n`).response();
    expect(response?.status).toBe(200);
    before.destroy();
  });

  it('is seen through the links of a Kubernetes Secret', async () => {
    const folder = folderOf({});
    const publish = (name: string, issued: Issued) => {
      const version = folderOf(pair(issued));
      symlinkSync(version, join(folder, name));
      renameSync(join(folder, name), join(folder, '..data'));
    };
    publish('..data_first', console_);
    for (const name of ['tls.crt', 'tls.key']) symlinkSync(join('..data', name), join(folder, name));
    const { gateway, reloaded } = await serve({
      certificates: [{ cert: join(folder, 'tls.crt'), key: { file: join(folder, 'tls.key') } }],
    });
    const first = await serialShown(gateway.port);
    const taken = reloaded();
    publish('..data_second', authority.issue([`DNS:${HOST}`]));
    expect((await taken).ok).toBe(true);
    expect(await serialShown(gateway.port)).not.toBe(first);
  });

  it('changes nothing when it is no good: the one before stays, and the operator is told', async () => {
    const folder = folderOf(pair(console_));
    const { gateway, reloaded } = await serve({
      certificates: [{ cert: join(folder, 'tls.crt'), key: { file: join(folder, 'tls.key') } }],
    });
    const first = await serialShown(gateway.port);
    for (const [text, message] of [
      [other.cert, /belong together/],
      ['nonsense', /belong together/],
      [undefined, /cannot be read \(ENOENT\)/],
    ] as const) {
      const judged = reloaded();
      if (text === undefined) unlinkSync(join(folder, 'tls.crt'));
      else replace(folder, { 'tls.crt': text });
      expect((await judged).faults).toMatchObject([{ message: expect.stringMatching(message) }]);
      expect(await serialShown(gateway.port)).toBe(first);
    }
    expect(gateway.config.failures).toBe(3);
    const mended = reloaded();
    replace(folder, pair(authority.issue([`DNS:${HOST}`])));
    expect((await mended).ok).toBe(true);
    expect(await serialShown(gateway.port)).not.toBe(first);
  });

  it('cannot make a plain listener one of TLS, which needs a restart', async () => {
    const gateway = await startReloadingGateway(configOf({ certificates: [source(console_)] }));
    onTestFinished(() => gateway.close());
    const { listen: _, ...plain } = configOf({}) as { listen: object };
    const { ok, warnings } = await gateway.write({ ...plain, listen: { port: 0 } });
    expect([ok, warnings.map(({ path }) => path)]).toEqual([true, expect.arrayContaining(['listen.tls'])]);
    expect((await shakeHands(gateway.port)).authorized).toBe(true);
  });
});
