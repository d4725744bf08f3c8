import { type Check, RELAYED, SIGNED_IN } from '../check.ts';
import type { FrontEnd } from '../front-end.ts';

/** Targets two parties could read differently. */
const AMBIGUOUS = [
  '/v2/../v2',
  '/v2/./kernel',
  '/v2/%2e%2e/v2',
  '/v2/.%2E/v2',
  '/v2//kernel',
  '/v2\\kernel',
  '/v2/kernel%2Fcreate',
  '/v2/kernel%5Ccreate',
  '/v2#fragment',
  '/v2/%zz',
  '/v2/%4',
  '/v2/caf\xe9',
];

/** Messages whose end two parties could see in different places. */
const FRAMINGS: readonly (readonly [what: string, headers: string, body: string])[] = [
  ['Content-Length and Transfer-Encoding', 'Content-Length: 5\r\nTransfer-Encoding: chunked', '0\r\n\r\n'],
  ['two Content-Lengths', 'Content-Length: 2\r\nContent-Length: 3', '{}'],
  ['a malformed Content-Length', 'Content-Length: +2', '{}'],
  ['a header folded over two lines', 'X-Smoke: a\r\n b', ''],
  ['a Transfer-Encoding that is not chunked', 'Transfer-Encoding: identity, chunked', '0\r\n\r\n'],
  ['a header that ends with a bare line feed', 'X-Smoke: a\nX-Smoke-Two: b', ''],
  ['white space before the colon', 'X-Smoke : a', ''],
];

/** One canonical target, one framing (design §3, §9). */
export const targetChecks: readonly Check[] = [
  {
    id: 'target.ambiguous',
    says: 'a target that could be read in two ways is refused, never normalised',
    rule: 'design §3',
    needs: 'outside',
    async run(c) {
      for (const path of AMBIGUOUS) (await c.nobody.fetch('GET', path)).mustRefuse(400, 'ambiguous-target', true);
      (await withTarget(c.nobody, 'http://smoke-foreign.example/v2')).mustRefuse(400, 'ambiguous-target', true);
    },
  },
  {
    id: 'target.verbatim',
    says: 'every other target goes upstream byte for byte',
    rule: 'design §3',
    needs: 'inside',
    after: SIGNED_IN,
    async run(c) {
      const user = await c.recorded();
      const paths = [
        '/v2/smoke/target?b=2&a=1&a=%7e&c=%7E',
        '/v2/smoke/target?',
        '/v2/smoke/%74arget;p=1/~x/',
        '/v2/smoke/target?q=a+b&path=//x/../y&empty=&=',
        "/v2/smoke/target?!$&'()*,:@[]|",
      ];
      for (const path of paths) {
        const { exchange, arrival } = await c.inside.recorder.forwarded(user, 'GET', path);
        arrival.must(arrival.target === path, `the target ${path}`, exchange.sent);
      }
    },
  },
  {
    id: 'target.absolute-form',
    says: 'an absolute target that names the Host is taken for its path',
    rule: 'design §3; RFC 9112 §3.2.2',
    needs: 'inside',
    after: RELAYED,
    async run(c) {
      const exchange = await withTarget(await c.user(), `${c.nobody.site.origin}/v2`);
      exchange.must(exchange.status === 200, '200');
    },
  },
  {
    id: 'target.framing',
    says: 'a message whose end is not certain is refused, and the connection closed',
    rule: 'design §9',
    needs: 'outside',
    async run(c) {
      for (const [what, headers, body] of FRAMINGS) {
        const head = `POST ${c.nobody.target('/v2')} HTTP/1.1\r\nHost: ${c.nobody.host}\r\n${headers}\r\n\r\n${body}`;
        const exchange = await c.nobody.exchange(Buffer.from(head, 'latin1'));
        exchange.mustRefuse(400, 'malformed-request', true);
        exchange.must(exchange.header('connection') === 'close', `Connection: close after ${what}`);
      }
    },
  },
];

function withTarget(user: FrontEnd, target: string) {
  const text = user.bytes('GET', '/-/smoke').toString('latin1');
  return user.exchange(Buffer.from(text.replace('/-/smoke', target), 'latin1'));
}
