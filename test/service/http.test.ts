import { once } from 'node:events';
import { connect } from 'node:net';
import { describe, expect, it, onTestFinished } from 'vitest';
import type { ServiceOptions } from '../../src/service/server.ts';
import { type CallOptions, call, exchange, readUntil, signedHeaders, start } from './client.ts';

async function serve(options: Partial<ServiceOptions> = {}) {
  const service = await start(options);
  onTestFinished(() => service.close());
  return service;
}

/** A signed request as bytes; `extra` are header lines. */
function bytesOf(method: string, target: string, extra: readonly string[] = [], options: CallOptions = {}): string {
  const signed = Object.entries(signedHeaders(method, target, 'service.example', options));
  const lines = [...signed.map(([name, value]) => `${name}: ${value}`), ...extra];
  return `${method} ${target} HTTP/1.1\r\n${lines.join('\r\n')}\r\n\r\n`;
}

const CLOSE = 'Connection: close';

describe('what is not a proper request', () => {
  it.each([
    ['no HTTP at all', 'hello\r\n\r\n', 400, 'malformed-request'],
    ['a lower-case method', bytesOf('GET', '/v2').replace('GET', 'get'), 400, 'malformed-request'],
    ['a header section without end', `GET /v2 HTTP/1.1\r\nX: ${'x'.repeat(20_000)}\r\n\r\n`, 431, 'headers-too-large'],
    [
      'two framings of one body',
      bytesOf('POST', '/v2/kernel/create', ['Content-Length: 5', 'Transfer-Encoding: chunked']),
      400,
      'malformed-request',
    ],
    ['no Host', bytesOf('GET', '/v2', [CLOSE]).replace('Host: service.example\r\n', ''), 400, 'invalid-auth-params'],
    ['a tunnel', 'CONNECT other.example:443 HTTP/1.1\r\nHost: other.example:443\r\n\r\n', 405, 'method-not-allowed'],
  ])('%s is a problem with the rate headers, and the connection ends', async (_what, bytes, status, code) => {
    const reply = await exchange(await serve(), bytes);
    expect(reply).toMatch(new RegExp(`^HTTP/1\\.1 ${status} `));
    expect(reply).toContain(`/${code}"`);
    expect(reply).toContain('X-RateLimit-Remaining: 29999\r\n');
    expect(reply).toContain('Content-Type: application/problem+json\r\n');
  });

  it('an absolute-form target is verified as it was sent, and is nothing here', async () => {
    const reply = await exchange(await serve(), bytesOf('GET', 'http://service.example/v2', [CLOSE]));
    expect(reply).toMatch(/^HTTP\/1\.1 404 /);
  });

  it('an Upgrade to something else is ignored', async () => {
    const reply = await exchange(await serve(), bytesOf('GET', '/v2', ['Connection: Upgrade, close', 'Upgrade: h2c']));
    expect(reply).toMatch(/^HTTP\/1\.1 200 /);
  });

  it('an expectation nobody knows is ignored', async () => {
    const reply = await exchange(await serve(), bytesOf('GET', '/v2', [CLOSE, 'Expect: miracles']));
    expect(reply).toMatch(/^HTTP\/1\.1 200 /);
  });

  it('behind another request waits until that one has its answer', async () => {
    const replies = await exchange(await serve(), `${bytesOf('GET', '/v2')}garbage\r\n\r\n`);
    expect(replies).toMatch(/^HTTP\/1\.1 200 [\s\S]*\r\n\r\n\{"version":"v4\.20190315"\}HTTP\/1\.1 400 [\s\S]*\}$/);
  });

  it('in the middle of a body is a problem', async () => {
    const head = bytesOf('POST', '/v2/kernel/create', ['Transfer-Encoding: chunked']);
    expect(await exchange(await serve(), `${head}zz\r\n`)).toMatch(/^HTTP\/1\.1 400 [\s\S]*\/malformed-request"/);
  });
});

describe('a body', () => {
  it('may come in chunks, and is hashed as one', async () => {
    const body = '{"lang":"python"}';
    const head = bytesOf('POST', '/v2/kernel/create', [CLOSE, 'Transfer-Encoding: chunked'], { raw: body });
    const reply = await exchange(
      await serve(),
      `${head}9\r\n${body.slice(0, 9)}\r\n8\r\n${body.slice(9)}\r\n0\r\n\r\n`,
    );
    expect(reply).toMatch(/^HTTP\/1\.1 201 /);
  });

  it('is taken up to the limit and not a byte further', async () => {
    const service = await serve({ maxBody: 100 });
    const text = (length: number) => JSON.stringify({ lang: 'r', pad: 'x'.repeat(length - 21) });
    expect(text(100)).toHaveLength(100);
    expect((await call(service, 'POST', '/v2/kernel/create', { raw: text(100) })).status).toBe(201);
    expect((await call(service, 'POST', '/v2/kernel/create', { raw: text(101) })).status).toBe(413);
  });

  it('that is not finished when the client leaves hurts nobody', async () => {
    const service = await serve();
    const socket = connect(service.port, '127.0.0.1');
    socket.write(`${bytesOf('POST', '/v2/kernel/create', ['Content-Length: 100'])}{"lang"`, () => socket.destroy());
    await once(socket, 'close');
    expect((await call(service, 'GET', '/v2')).status).toBe(200);
  });
});

describe('life cycle', () => {
  it('keeps one connection for several requests', async () => {
    const service = await serve();
    const socket = connect(service.port, '127.0.0.1');
    onTestFinished(() => void socket.destroy());
    socket.write(bytesOf('GET', '/v2').repeat(3));
    const bytes = await readUntil(socket, (sofar) => sofar.toString().split('"version"').length === 4);
    expect(bytes.toString().match(/X-RateLimit-Remaining: \d+/g)).toEqual([
      'X-RateLimit-Remaining: 29999',
      'X-RateLimit-Remaining: 29998',
      'X-RateLimit-Remaining: 29997',
    ]);
  });

  it('rejects with the listen error as it is when the port is in use', async () => {
    const service = await serve();
    await expect(start({ port: service.port })).rejects.toMatchObject({ code: 'EADDRINUSE', syscall: 'listen' });
  });

  it('refuses to start with a version that is none', async () => {
    await expect(start({ version: '4' })).rejects.toThrow(TypeError);
  });

  it('shares no state with another Service in the same process', async () => {
    const [one, two] = [await serve(), await serve()];
    await call(one, 'POST', '/v2/kernel/create', { body: { lang: 'r' } });
    const reply = await call(two, 'GET', '/v2/kernel');
    expect([reply.body['total'], reply.headers['x-ratelimit-remaining']]).toEqual([0, '29999']);
  });

  it('closes with an idle connection open', async () => {
    const service = await start();
    const socket = connect(service.port, '127.0.0.1');
    socket.write(bytesOf('GET', '/v2'));
    await readUntil(socket, (bytes) => bytes.includes('"version"'));
    const closed = once(socket, 'close');
    await service.close();
    await closed;
    await expect(call(service, 'GET', '/v2')).rejects.toMatchObject({ code: 'ECONNREFUSED' });
  });
});
