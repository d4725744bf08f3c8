import {
  added,
  type BrokenGateway,
  dropRate,
  firstCookie,
  isProblem,
  keptId,
  normalisedPath,
  RATE,
  resigned,
  setCookie,
} from './flaw.ts';
import { Message } from './message.ts';

const OWN_ORIGIN = 'http://smoke.localhost';

export const BROKEN: readonly BrokenGateway[] = [
  {
    flaw: 'cookie without HttpOnly',
    caughtBy: 'cookie.http-only',
    front: setCookie((text) => text.replace('; HttpOnly', '')),
  },
  {
    flaw: 'cookie without SameSite',
    caughtBy: 'cookie.same-site',
    front: setCookie((text) => text.replace('; SameSite=Strict', '')),
  },
  {
    flaw: 'cookie with SameSite=Lax',
    caughtBy: 'cookie.same-site',
    front: setCookie((text) => text.replace('=Strict', '=Lax')),
  },
  {
    flaw: 'cookie with a Domain',
    caughtBy: 'cookie.no-domain',
    front: setCookie((text) => `${text}; Domain=localhost`),
  },
  {
    flaw: 'cookie for a path',
    caughtBy: 'cookie.path',
    front: setCookie((text) => text.replace('Path=/', 'Path=/v2')),
  },
  {
    flaw: 'https cookie without Secure',
    caughtBy: 'cookie.secure',
    front: setCookie((text) => text.replace('; Secure', '')),
  },
  { flaw: 'session id kept at login', caughtBy: 'session.rotation', front: keptId },
  { flaw: 'the first of two cookies taken', caughtBy: 'cookie.duplicate', front: () => ({ request: firstCookie }) },
  {
    flaw: 'sign-out that ends nothing',
    caughtBy: 'session.ended',
    front: () => ({
      request(request) {
        if (request.method !== 'DELETE' || request.target !== '/-/session') return undefined;
        if (request.value('sec-fetch-site') !== 'same-origin' || request.value('origin') !== undefined)
          return undefined;
        const clear = 'Set-Cookie: session=; Max-Age=0; Path=/; HttpOnly; SameSite=Strict';
        return new Message(
          `HTTP/1.1 204 No Content\r\n${clear}\r\nClear-Site-Data: "cache", "cookies"`,
          Buffer.alloc(0),
        );
      },
    }),
  },
  {
    flaw: '401 turned into a redirect to a login page',
    caughtBy: 'session.unauthorized',
    front: () => ({
      response(response, request) {
        if (response.status !== 401 || request.target.startsWith('/-/')) return;
        response.start = 'HTTP/1.1 302 Found';
        response.add('Location', '/login');
      },
    }),
  },
  {
    flaw: 'CSRF protection off',
    caughtBy: 'csrf.session',
    front: () => ({
      request(request) {
        if (['GET', 'HEAD', 'OPTIONS'].includes(request.method)) return undefined;
        request.drop('origin');
        request.set('Sec-Fetch-Site', 'same-origin');
        return undefined;
      },
    }),
  },
  {
    flaw: 'CSRF protection off for what is relayed',
    caughtBy: 'csrf.routes',
    front: () => ({
      request(request) {
        if (request.method !== 'POST' || !request.target.startsWith('/v2')) return undefined;
        request.drop('origin');
        request.set('Sec-Fetch-Site', 'same-origin');
        return undefined;
      },
    }),
  },
  {
    flaw: 'foreign Origin accepted on an upgrade',
    caughtBy: 'upgrade.foreign-origin',
    front: () => ({
      request(request) {
        if (request.value('upgrade') !== 'websocket') return undefined;
        request.drop('sec-fetch-site');
        request.set('Origin', OWN_ORIGIN);
        return undefined;
      },
    }),
  },
  {
    flaw: 'any origin let in by CORS',
    caughtBy: 'edge.cors-foreign',
    front: () => ({
      response(response, request) {
        const origin = request.value('origin');
        if (origin !== undefined) response.set('Access-Control-Allow-Origin', origin);
      },
    }),
  },
  {
    flaw: 'unknown Host served',
    caughtBy: 'edge.unknown-host',
    front: () => ({
      request(request) {
        request.edit('host', (host) => (host.endsWith('.invalid') ? 'smoke.localhost' : host));
        return undefined;
      },
    }),
  },
  { flaw: 'ambiguous target normalised', caughtBy: 'target.ambiguous', front: () => ({ request: normalisedPath }) },
  {
    flaw: 'query parameters sorted',
    caughtBy: 'target.verbatim',
    front: () => ({
      request(request) {
        const [path, query] = request.target.split(/\?(.*)/s);
        if (query) request.target = `${path}?${query.split('&').toSorted().join('&')}`;
        return undefined;
      },
    }),
  },
  {
    flaw: 'Content-Length dropped beside Transfer-Encoding, not refused',
    caughtBy: 'target.framing',
    front: () => ({
      request(request) {
        if (request.value('transfer-encoding') === 'chunked') request.drop('content-length');
        return undefined;
      },
    }),
  },
  { flaw: 'cookie leaked upstream', caughtBy: 'upstream.cookie', back: added('Cookie', `session=${'x'.repeat(43)}`) },
  { flaw: 'hop-by-hop header passed upstream', caughtBy: 'upstream.hop-by-hop', back: added('TE', 'trailers') },
  {
    flaw: 'JSON written anew on its way upstream',
    caughtBy: 'upstream.body',
    front: () => ({
      request(request) {
        if (request.value('content-type') !== 'application/json') return undefined;
        try {
          request.setBody(JSON.stringify(JSON.parse(request.body.toString())));
        } catch {
          return undefined;
        }
        return undefined;
      },
    }),
  },
  {
    flaw: 'stale date',
    caughtBy: 'signing.date',
    back: (identities) => resigned(identities, { age: 300_000, hashes: 'body' }),
  },
  {
    flaw: 'hash of an empty body, always',
    caughtBy: 'signing.body-hash',
    back: (identities) => resigned(identities, { hashes: 'empty' }),
  },
  {
    flaw: 'signature made with another secret',
    caughtBy: 'signing.signature',
    back: (identities) => resigned(identities, { secret: 'another' }),
  },
  {
    flaw: 'hop-by-hop header passed to the browser',
    caughtBy: 'reply.hop-by-hop',
    back: () => ({
      response(response) {
        response.edit('connection', (value) => (value === 'X-Smoke-Hop' ? undefined : value));
      },
    }),
  },
  { flaw: 'the Service’s Set-Cookie let through', caughtBy: 'reply.set-cookie', upstream: { passSetCookie: true } },
  { flaw: '200 with a clean end for a truncated reply', caughtBy: 'reply.truncated', front: () => ({ mends: true }) },
  {
    flaw: 'rate headers dropped',
    caughtBy: 'rate.headers',
    front: () => ({ response: (response) => isProblem(response) || dropRate(response) }),
  },
  {
    flaw: 'rate headers read and written anew',
    caughtBy: 'reply.rate-verbatim',
    front: () => ({
      response(response) {
        for (const name of RATE) response.edit(name, (value) => String(Number(value)));
      },
    }),
  },
  {
    flaw: 'rate figures answered from a cache',
    caughtBy: 'rate.falls',
    front: () => ({
      response(response, request) {
        if (request.target === '/v2')
          response.edit('X-RateLimit-Remaining', (value) => (value === '0' ? value : '4000'));
      },
    }),
  },
  {
    flaw: 'problem with another Content-Type',
    caughtBy: 'problem.content-type',
    front: () => ({
      response: (response) =>
        response.edit('content-type', (value) => value.replace('application/problem+json', 'application/json')),
    }),
  },
  {
    flaw: 'problem without rate headers',
    caughtBy: 'problem.rate-headers',
    front: () => ({ response: (response) => !isProblem(response) || dropRate(response) }),
  },
  {
    flaw: 'problem that may be cached',
    caughtBy: 'problem.no-store',
    front: () => ({
      response(response) {
        if (isProblem(response)) response.drop('cache-control');
      },
    }),
  },
  {
    flaw: 'problem without an instance',
    caughtBy: 'problem.shape',
    front: () => ({
      response(response) {
        if (isProblem(response)) response.setBody(response.body.toString().replace(/,"instance":"[^"]*"/, ''));
      },
    }),
  },
  {
    flaw: 'secret key in a body',
    caughtBy: 'secret.unseen',
    front: ({ visitor }) => ({
      response(response, request) {
        if (request.method !== 'GET' || request.target !== '/-/session' || response.status !== 200) return;
        response.setBody(response.body.toString().replace('{', `{"debug":"${visitor.secretKey}",`));
      },
    }),
  },
  {
    flaw: 'owner_access_key let through',
    caughtBy: 'policy.owner-access-key',
    front: () => ({
      request(request) {
        const renamed = (text: string) => text.replace(/owner(_|%5F)access(_|%5F)key/gi, 'smuggled_by_a_front');
        request.target = renamed(request.target).replace('%6fwner_access_key', 'smuggled');
        if (request.method === 'REPORT') request.setBody(renamed(request.body.toString()));
        return undefined;
      },
    }),
  },
  {
    flaw: 'GraphQL alias slips past',
    caughtBy: 'policy.graphql',
    front: () => ({
      request(request) {
        if (!/\w+: create_group/.test(request.body.toString())) return undefined;
        const body = '{"data":{"groups":{"ok":false}}}';
        const head = `HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: ${body.length}`;
        return new Message(head, Buffer.from(body));
      },
    }),
  },
  {
    flaw: 'any body taken for JSON',
    caughtBy: 'policy.content-type',
    front: () => ({
      request(request) {
        if (request.target === '/v2' && request.method === 'POST') request.set('Content-Type', 'application/json');
        return undefined;
      },
    }),
  },
];
