import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import type { RunningService } from '../../src/service/server.ts';
import type { Keypair } from '../../src/tenant.ts';
import { ADMIN, type CallOptions, call, codeOf, idOf, OTHER, start, USER } from './client.ts';

let service: RunningService;
beforeAll(async () => {
  service = await start({ clock: () => Date.UTC(2026, 2, 15, 12), maxBody: 1024 });
});
afterAll(() => service.close());

const send = (method: string, path: string, options: CallOptions = {}) =>
  call(service, method, path, { at: Date.UTC(2026, 2, 15, 12), ...options });
const create = async (as: Keypair = USER, lang = 'python:3.12') =>
  idOf(await send('POST', '/v2/kernel/create', { as, body: { lang } }));

describe('GET /v2', () => {
  it('tells the latest version', async () => {
    const reply = await send('GET', '/v2');
    expect([reply.status, reply.text, reply.headers['content-type']]).toEqual([
      200,
      '{"version":"v4.20190315"}',
      'application/json',
    ]);
    expect(reply.headers).not.toHaveProperty('x-powered-by');
  });

  it('answers HEAD with the same head and no body', async () => {
    const reply = await send('HEAD', '/v2');
    expect([reply.status, reply.text, reply.headers['content-length']]).toEqual([200, '', '25']);
  });
});

describe('kernels', () => {
  it('live from creation to deletion', async () => {
    const created = await send('POST', '/v2/kernel/create', { body: { lang: 'python:3.12' } });
    const path = `/v2/kernel/${idOf(created)}`;
    expect(created.status).toBe(201);
    expect(created.headers.location).toBe(`${service.origin}${path}`);
    expect(created.body).toEqual({
      id: expect.stringMatching(/^[0-9a-f-]{36}$/),
      access_key: USER.accessKey,
      lang: 'python:3.12',
      status: 'RUNNING',
      created_at: '2026-03-15T12:00:00.000Z',
    });
    expect((await send('GET', path)).body).toEqual(created.body);
    expect((await send('REPORT', path)).body).toEqual({ id: idOf(created), status: 'RUNNING', uptime: 0 });
    expect((await send('DELETE', path)).status).toBe(204);
    expect(codeOf(await send('GET', path))).toBe('not-found');
    expect(codeOf(await send('DELETE', path))).toBe('not-found');
  });

  it('belong to the keypair that made them, and no other finds them', async () => {
    const id = await create();
    const reply = await send('GET', `/v2/kernel/${id}`, { as: OTHER });
    expect([reply.status, codeOf(reply)]).toEqual([404, 'not-found']);
    expect((await send('DELETE', `/v2/kernel/${id}`, { as: OTHER })).status).toBe(404);
    expect((await send('GET', `/v2/kernel/${id}`)).status).toBe(200);
  });

  it('are reported on, several at a time, by a request with a body', async () => {
    const ids = [await create(), await create()];
    const reply = await send('REPORT', '/v2/kernel', { body: { ids } });
    expect(reply.body).toEqual({ items: ids.map((id) => ({ id, status: 'RUNNING', uptime: 0 })) });
    expect((await send('REPORT', '/v2/kernel')).headers.link).toContain('rel="first"');
    expect((await send('REPORT', '/v2/kernel', { body: { ids: [1] } })).status).toBe(400);
    expect((await send('REPORT', '/v2/kernel', { body: { ids }, as: OTHER })).status).toBe(404);
  });

  it.each([
    ['malformed JSON', '{"lang":'],
    ['a list', '["python"]'],
    ['bytes that are not UTF-8', Buffer.from([0x22, 0xff, 0x22])],
    ['no lang', '{}'],
    ['an empty lang', '{"lang":""}'],
    ['a lang that is no text', '{"lang":1}'],
    ['no body', ''],
  ])('are not created from %s', async (_what, raw) => {
    const reply = await send('POST', '/v2/kernel/create', { raw });
    expect([reply.status, codeOf(reply)]).toEqual([400, 'invalid-params']);
  });
});

describe('vfolders', () => {
  it('are created, renamed and deleted', async () => {
    const created = await send('POST', '/v2/vfolder/create', { body: { name: 'data' } });
    const path = `/v2/vfolder/${idOf(created)}`;
    expect([created.status, created.headers.location]).toEqual([201, `${service.origin}${path}`]);
    expect(created.body).toMatchObject({ name: 'data', access_key: USER.accessKey, files: [] });
    expect((await send('PATCH', path, { body: { name: 'raw data' } })).body).toMatchObject({ name: 'raw data' });
    expect((await send('GET', '/v2/vfolder')).body).toMatchObject({ items: [{ name: 'raw data' }], total: 1 });
    expect((await send('GET', path, { as: OTHER })).status).toBe(404);
    expect((await send('DELETE', path)).status).toBe(204);
    expect((await send('GET', path)).status).toBe(404);
  });

  it('keep JSON documents byte for byte, under any name', async () => {
    const id = idOf(await send('POST', '/v2/vfolder/create', { body: { name: 'docs' } }));
    const path = `/v2/vfolder/${id}/files/r%C3%A9sum%C3%A9%2Fv1`;
    expect((await send('GET', path)).status).toBe(404);
    expect((await send('PUT', path, { raw: '[1, 2.50]' })).status).toBe(201);
    expect((await send('GET', path)).text).toBe('[1, 2.50]');
    expect((await send('PUT', path, { raw: '"한글"' })).status).toBe(200);
    expect((await send('GET', path)).text).toBe('"한글"');
    expect((await send('GET', `/v2/vfolder/${id}`)).body['files']).toEqual(['résumé/v1']);
    expect(codeOf(await send('PUT', path, { raw: 'not JSON' }))).toBe('invalid-params');
    expect(codeOf(await send('PUT', path))).toBe('invalid-params');
  });
});

describe('quotas', () => {
  it('bound the files of a vfolder', async () => {
    const path = `/v2/vfolder/${idOf(await send('POST', '/v2/vfolder/create', { as: OTHER, body: { name: 'full' } }))}`;
    for (let index = 0; index < 100; index++) await send('PUT', `${path}/files/${index}`, { as: OTHER, body: index });
    const reply = await send('PUT', `${path}/files/100`, { as: OTHER, body: 100 });
    expect([reply.status, codeOf(reply)]).toEqual([403, 'quota-exceeded']);
    expect((await send('PUT', `${path}/files/99`, { as: OTHER, body: 100 })).status).toBe(200);
    expect((await send('PUT', `${path}/files/${'x'.repeat(256)}`, { as: OTHER, body: 1 })).status).toBe(403);
  });

  it('bound the bytes of a keypair, and deleting a vfolder gives its bytes back', async () => {
    const large = await start();
    onTestFinished(() => large.close());
    const raw = JSON.stringify('x'.repeat(15 * 1024 * 1024));
    const create = async () =>
      `/v2/vfolder/${idOf(await call(large, 'POST', '/v2/vfolder/create', { body: { name: 'x' } }))}`;
    const [first, second] = [await create(), await create()];
    const put = async (path: string, name: string) =>
      (await call(large, 'PUT', `${path}/files/${name}`, { raw })).status;
    expect([await put(first, 'a'), await put(first, 'b'), await put(second, 'c'), await put(second, 'd')]).toEqual([
      201, 201, 201, 201,
    ]);
    expect([await put(first, 'e'), await put(first, 'a')]).toEqual([403, 200]);
    await call(large, 'DELETE', second);
    expect(await put(first, 'e')).toBe(201);
  });
});

describe('owner_access_key', () => {
  it('lets an administrator act in another keypair’s scope, named in the query or in the body', async () => {
    const id = await create(OTHER);
    const query = `?owner_access_key=${OTHER.accessKey}`;
    expect((await send('GET', `/v2/kernel/${id}`, { as: ADMIN })).status).toBe(404);
    expect((await send('GET', `/v2/kernel/${id}${query}`, { as: ADMIN })).body['access_key']).toBe(OTHER.accessKey);
    const body = { lang: 'r', owner_access_key: OTHER.accessKey };
    expect((await send('POST', '/v2/kernel/create', { as: ADMIN, body })).body['access_key']).toBe(OTHER.accessKey);
    expect((await send('GET', `/v2/kernel${query}`, { as: ADMIN })).headers.link).toContain(
      `owner_access_key=${OTHER.accessKey}&limit=20`,
    );
  });

  it.each([
    ['the query', `/v2/kernel?owner_access_key=${OTHER.accessKey}`, undefined],
    ['an encoded query', `/v2/kernel?%6fwner_access_key=${OTHER.accessKey}`, undefined],
    ['the body', '/v2/kernel', { owner_access_key: OTHER.accessKey }],
    ['one that does not exist', '/v2/kernel?owner_access_key=AKIANOBODY', undefined],
  ])('is forbidden to everybody else: %s', async (_where, path, body) => {
    const reply = await send('REPORT', path, { body });
    expect([reply.status, codeOf(reply)]).toEqual([403, 'forbidden']);
  });

  it('may name the caller’s own key', async () => {
    expect((await send('GET', `/v2/kernel?owner_access_key=${USER.accessKey}`)).status).toBe(200);
  });

  it('must be known, one, and a text', async () => {
    const statusOf = async (query: string, body?: unknown) =>
      (await send('REPORT', `/v2/kernel${query}`, { as: ADMIN, body })).status;
    expect(await statusOf('?owner_access_key=AKIANOBODY')).toBe(404);
    expect(await statusOf(`?owner_access_key=${USER.accessKey}&owner_access_key=${OTHER.accessKey}`)).toBe(400);
    expect(await statusOf(`?owner_access_key=${USER.accessKey}`, { owner_access_key: OTHER.accessKey })).toBe(400);
    expect(await statusOf('', { owner_access_key: 7 })).toBe(400);
    expect(await statusOf(`?owner_access_key=${USER.accessKey}`, { owner_access_key: USER.accessKey })).toBe(200);
  });

  it('did not exist before v4.20190315: an older client gets its own scope', async () => {
    const id = await create(OTHER);
    const path = `/v2/kernel/${id}?owner_access_key=${OTHER.accessKey}`;
    expect((await send('GET', path, { as: ADMIN, version: 'v4.20190314' })).status).toBe(404);
    expect((await send('GET', path, { as: ADMIN, version: 'v3.20991231' })).status).toBe(404);
    expect((await send('GET', path, { as: ADMIN, version: 'v4.20190315' })).status).toBe(200);
  });
});

describe('what is refused after the signature', () => {
  it.each(['/', '/v1', '/v2/', '/v2/nowhere', '//v2', '/v2/kernel/', '/v2/kernel/x/y', '/v2/./kernel'])(
    'nothing is at %s',
    async (path) => {
      const reply = await send('GET', path);
      expect([reply.status, codeOf(reply)]).toEqual([404, 'not-found']);
    },
  );

  it.each([
    ['POST', '/v2', 'GET, HEAD'],
    ['GET', '/v2/kernel/create', 'POST'],
    ['DELETE', '/v2/kernel', 'GET, REPORT, HEAD'],
    ['GET', '/v2/admin/gql', 'POST'],
    ['OPTIONS', '/v2', 'GET, HEAD, REPORT, POST, PUT, PATCH, DELETE'],
    ['TRACE', '/v2', 'GET, HEAD, REPORT, POST, PUT, PATCH, DELETE'],
    ['PROPFIND', '/v2', 'GET, HEAD, REPORT, POST, PUT, PATCH, DELETE'],
  ])('%s on %s is 405 and says what is allowed', async (method, path, allow) => {
    const reply = await send(method, path);
    expect([reply.status, codeOf(reply), reply.headers.allow]).toEqual([405, 'method-not-allowed', allow]);
  });

  it.each(['text/plain', 'application/x-www-form-urlencoded', 'application/json+x', ''])(
    'a Content-Type of %j is 415',
    async (contentType) => {
      const reply = await send('GET', '/v2', { contentType });
      expect([reply.status, codeOf(reply)]).toEqual([415, 'unsupported-media-type']);
    },
  );

  it('a Content-Type may have parameters and any case', async () => {
    expect((await send('GET', '/v2', { contentType: 'Application/JSON; charset=utf-8' })).status).toBe(200);
  });

  it('malformed percent-encoding is 400', async () => {
    expect(codeOf(await send('GET', '/v2/kernel/%zz'))).toBe('invalid-params');
  });

  it('a body past the limit is 413, whether its length is declared or not', async () => {
    const raw = JSON.stringify({ lang: 'x'.repeat(1024) });
    const declared = await send('POST', '/v2/kernel/create', { raw });
    expect([declared.status, codeOf(declared), declared.headers.connection]).toEqual([413, 'body-too-large', 'close']);
    const headers = { 'Transfer-Encoding': 'chunked' };
    const chunked = await send('POST', '/v2/kernel/create', { raw, headers });
    expect([chunked.status, codeOf(chunked)]).toEqual([413, 'body-too-large']);
    expect(chunked.headers['x-ratelimit-limit']).toBe('30000');
  });
});
