import { type Check, SIGNED_IN } from '../check.ts';

const METHODS = ['GET', 'REPORT', 'POST', 'PUT', 'PATCH', 'DELETE'];
/** What no request of the gateway's own has: where it is seen upstream, a browser's header has passed. */
const MARKER = 'smoke-marker';

/** What of a browser's request reaches the Service (design §9). */
export const upstreamChecks: readonly Check[] = [
  {
    id: 'upstream.methods',
    says: 'each of the Service’s methods arrives as itself, and HEAD with them',
    rule: 'service-api.md §4, Method; design §7',
    needs: 'inside',
    after: SIGNED_IN,
    async run(c) {
      const user = await c.recorded();
      for (const method of [...METHODS, 'HEAD']) {
        const { exchange, arrival } = await c.inside.recorder.forwarded(user, method, '/v2/smoke/methods');
        arrival.must(arrival.method === method, `the method ${method}`, exchange.sent);
      }
    },
  },
  {
    id: 'upstream.body',
    says: 'a body arrives byte for byte, with its length and never chunked',
    rule: 'design §9; service-api.md §4, Body',
    needs: 'inside',
    after: SIGNED_IN,
    async run(c) {
      const user = await c.recorded();
      const body = '{"b" : 1,\n "a":[ 1.0, "\\u00e9\u00e9" ]  }';
      for (const method of ['POST', 'REPORT']) {
        const { exchange, arrival } = await c.inside.recorder.forwarded(user, method, '/v2/smoke/body', { body });
        arrival.must(arrival.body.equals(Buffer.from(body)), 'the body as it was sent', exchange.sent);
        const length = String(Buffer.byteLength(body));
        arrival.must(
          arrival.header('content-length') === length && arrival.header('transfer-encoding') === undefined,
          `Content-Length: ${length} and no Transfer-Encoding`,
          exchange.sent,
        );
      }
    },
  },
  {
    id: 'upstream.cookie',
    says: 'the cookie stays at the gateway',
    rule: 'design §9',
    needs: 'inside',
    after: SIGNED_IN,
    async run(c) {
      const { exchange, arrival } = await c.inside.recorder.forwarded(await c.recorded(), 'GET', '/v2/smoke/cookie');
      arrival.must(arrival.header('cookie') === undefined, 'no Cookie', exchange.sent);
    },
  },
  {
    id: 'upstream.hop-by-hop',
    says: 'headers of the browser’s own connection stay there, those that Connection names too',
    rule: 'design §9; RFC 9110 §7.6.1',
    needs: 'inside',
    after: SIGNED_IN,
    async run(c) {
      const headers = [
        ['Connection', 'keep-alive, Accept-Language, X-Smoke-Hop'],
        ['Accept-Language', MARKER],
        ['X-Smoke-Hop', MARKER],
        ['Keep-Alive', 'timeout=5'],
        ['TE', 'trailers'],
        ['Trailer', 'X-Smoke-Trailer'],
        ['Proxy-Connection', 'keep-alive'],
        ['Upgrade', 'h2c'],
      ] as const;
      const path = '/v2/smoke/hop-by-hop';
      const { exchange, arrival } = await c.inside.recorder.forwarded(await c.recorded(), 'GET', path, { headers });
      for (const [name] of headers.slice(1)) {
        arrival.must(arrival.header(name) === undefined, `no ${name}`, exchange.sent);
      }
    },
  },
  {
    id: 'upstream.allow-list',
    says: 'credentials, the Service’s own headers, method overrides and forged forwarding headers do not pass',
    rule: 'design §9',
    needs: 'inside',
    after: SIGNED_IN,
    async run(c) {
      const names = [
        'Authorization',
        'Proxy-Authorization',
        'X-Service-Date',
        'X-Service-Version',
        'X_Service_Version',
        'X-HTTP-Method-Override',
        'X-Method-Override',
        'X-Forwarded-For',
        'X-Forwarded-Host',
        'X-Forwarded-User',
        'Forwarded',
        'X-Real-IP',
        'X-Request-ID',
        'X-Smoke-Unknown',
      ];
      const headers = names.map((name) => [name, MARKER] as const);
      const path = '/v2/smoke/allow-list';
      const { exchange, arrival } = await c.inside.recorder.forwarded(await c.recorded(), 'GET', path, { headers });
      const passed = arrival.headers.filter(([, value]) => value.includes(MARKER)).map(([name]) => name);
      arrival.must(passed.length === 0, `none of the browser’s ${passed.join(', ')}`, exchange.sent);
    },
  },
  {
    id: 'upstream.passed',
    says: 'content negotiation, conditional and range headers and the user agent do pass',
    rule: 'design §9',
    needs: 'inside',
    after: SIGNED_IN,
    async run(c) {
      const names = ['Accept', 'Accept-Language', 'If-None-Match', 'Range', 'Last-Event-ID', 'User-Agent'];
      const headers = [...names, 'X-Service-Client-Token'].map((name) => [name, MARKER] as const);
      const path = '/v2/smoke/passed';
      const { exchange, arrival } = await c.inside.recorder.forwarded(await c.recorded(), 'GET', path, { headers });
      for (const [name] of headers) arrival.must(arrival.header(name) === MARKER, `${name}: ${MARKER}`, exchange.sent);
    },
  },
  {
    id: 'upstream.forwarding',
    says: 'the gateway says for whom it asks: X-Forwarded-*, X-Request-ID, traceparent',
    rule: 'design §9',
    needs: 'inside',
    after: SIGNED_IN,
    async run(c) {
      const user = await c.recorded();
      const { exchange, arrival } = await c.inside.recorder.forwarded(user, 'GET', '/v2/smoke/forwarding');
      const id = arrival.header('x-request-id') ?? '';
      const holds: readonly (readonly [boolean, string])[] = [
        [arrival.header('x-forwarded-host') === user.host, `X-Forwarded-Host: ${user.host}`],
        [arrival.header('x-forwarded-proto') === 'http', 'X-Forwarded-Proto: http'],
        [(arrival.header('x-forwarded-for') ?? '') !== '', 'X-Forwarded-For'],
        [/^[0-9a-f]{32}$/.test(id) && exchange.header('x-request-id') === id, 'the X-Request-ID of the answer'],
        [/^00-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}$/.test(arrival.header('traceparent') ?? ''), 'a traceparent'],
      ];
      for (const [held, expected] of holds) arrival.must(held, expected, exchange.sent);
    },
  },
];
