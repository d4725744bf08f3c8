import { once } from 'node:events';
import { type IncomingMessage, request } from 'node:http';
import { afterEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import type { RunningService } from '../../src/service/server.ts';
import { call, idOf, OTHER, signedHeaders, start } from './client.ts';

afterEach(() => {
  vi.useRealTimers();
});

async function serveKernel() {
  const service = await start();
  onTestFinished(() => service.close());
  const id = idOf(await call(service, 'POST', '/v2/kernel/create', { body: { lang: 'r' } }));
  return { service, id };
}

/** The events of a kernel, chunk by chunk. */
async function listen(service: RunningService, id: string, headers: Record<string, string> = {}) {
  const path = `/v2/kernel/${id}/events`;
  const signed = signedHeaders('GET', path, `127.0.0.1:${service.port}`);
  const outgoing = request({
    host: '127.0.0.1',
    port: service.port,
    path,
    headers: { ...signed, ...headers },
    agent: false,
  });
  outgoing.on('error', () => outgoing.destroy());
  outgoing.end();
  const [response] = (await once(outgoing, 'response')) as [IncomingMessage];
  onTestFinished(() => void outgoing.destroy());
  const chunks = response.setEncoding('utf8')[Symbol.asyncIterator]();
  return { response, next: async () => (await chunks.next()).value as string | undefined };
}

describe('the events of a kernel', () => {
  it('begin with its start, go on with heartbeats, and end with its end', async () => {
    vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] });
    const { service, id } = await serveKernel();
    const { response, next } = await listen(service, id);
    expect(response.headers).toMatchObject({
      'content-type': 'text/event-stream',
      'cache-control': 'no-store',
      'x-ratelimit-remaining': '29998',
    });
    expect(await next()).toBe(`id: 1\nevent: kernel_started\ndata: {"kernel_id":"${id}"}\n\n`);
    for (let beat = 0; beat < 2; beat++) {
      vi.advanceTimersByTime(15_000);
      expect(await next()).toBe(': heartbeat\n\n');
    }
    await call(service, 'DELETE', `/v2/kernel/${id}`);
    expect(await next()).toBe(`id: 2\nevent: kernel_terminated\ndata: {"kernel_id":"${id}"}\n\n`);
    expect(await next()).toBeUndefined();
    expect(vi.getTimerCount()).toBe(0);
  });

  it('are not told twice to a client that comes back', async () => {
    const { service, id } = await serveKernel();
    const { next } = await listen(service, id, { 'Last-Event-ID': '1' });
    expect(await next()).toBe(': resumed\n\n');
  });

  it('are nobody else’s, and HEAD does not wait for them', async () => {
    const { service, id } = await serveKernel();
    expect((await call(service, 'GET', `/v2/kernel/${id}/events`, { as: OTHER })).status).toBe(404);
    expect((await call(service, 'HEAD', `/v2/kernel/${id}/events`)).headers['content-type']).toBe('text/event-stream');
  });

  it('end when the Service closes', async () => {
    const service = await start();
    const id = idOf(await call(service, 'POST', '/v2/kernel/create', { body: { lang: 'r' } }));
    const { next } = await listen(service, id);
    await next();
    await service.close();
    expect(await next()).toBeUndefined();
  });
});
