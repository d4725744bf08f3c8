import { type Check, SIGNED_IN } from '../check.ts';
import type { SmokeContext } from '../context.ts';
import type { Exchange } from '../exchange.ts';
import { answer, type Script } from '../recorder.ts';
import { NoReply, Wire } from '../wire.ts';

const MARKER = 'smoke-marker';
const TYPE = 'Content-Type: application/json';

/** Lets the recorder answer `script` and asks for it through the gateway. */
async function relayed(c: SmokeContext, path: string, script: Script): Promise<Exchange> {
  c.inside.recorder.script(path, script);
  return (await c.recorded()).fetch('GET', path);
}

/** What of the Service's answer reaches the browser (design §9). */
export const replyChecks: readonly Check[] = [
  {
    id: 'reply.verbatim',
    says: 'status, headers and body of an answer pass as they are, problems included',
    rule: 'design §9, §11; service-api.md §7',
    needs: 'inside',
    after: ['session.login', 'problem.content-type'],
    async run(c) {
      const problem = '{"type":"https://problems.upstream.example/smoke","title":"Smoke","detail":"as it is"}';
      const headers = ['Content-Type: application/problem+json', 'ETag: "smoke"', `X-Smoke: ${MARKER}`];
      const exchange = await relayed(c, '/v2/smoke/verbatim', { bytes: answer(418, headers, problem) });
      exchange.must(exchange.status === 418, '418');
      exchange.must(exchange.text === problem, `the body ${problem}`);
      for (const header of headers) {
        const [name = '', value] = header.split(': ');
        exchange.must(exchange.header(name) === value, header);
      }
    },
  },
  {
    id: 'reply.rate-verbatim',
    says: 'X-RateLimit-* pass as they came, whatever their unit',
    rule: 'design §8; service-api.md §8',
    needs: 'inside',
    after: ['session.login', 'rate.headers'],
    async run(c) {
      const headers = ['X-RateLimit-Limit: 5000', 'X-RateLimit-Remaining: 0042', 'X-RateLimit-Reset: 1924992000'];
      const exchange = await relayed(c, '/v2/smoke/rate', { bytes: answer(200, [TYPE, ...headers], '{}') });
      for (const header of headers) {
        const [name = '', value] = header.split(': ');
        exchange.must(exchange.header(name) === value, header);
      }
    },
  },
  {
    id: 'reply.hop-by-hop',
    says: 'headers of the Service’s own connection stay there, those that Connection names too',
    rule: 'design §9; RFC 9110 §7.6.1',
    needs: 'inside',
    after: SIGNED_IN,
    async run(c) {
      const headers = ['X-Smoke-Hop', 'Proxy-Authenticate', 'Proxy-Connection', 'Trailer'];
      const lines = ['Connection: X-Smoke-Hop', ...headers.map((name) => `${name}: ${MARKER}`)];
      const exchange = await relayed(c, '/v2/smoke/hop-by-hop', { bytes: answer(200, [TYPE, ...lines], '{}') });
      for (const name of headers) exchange.must(exchange.header(name) === undefined, `no ${name}`);
    },
  },
  {
    id: 'reply.set-cookie',
    says: 'the Service’s own Set-Cookie does not reach the browser',
    rule: 'design §9',
    needs: 'inside',
    after: SIGNED_IN,
    async run(c) {
      const bytes = answer(200, [TYPE, 'Set-Cookie: upstream=1; Path=/', 'Set-Cookie: two=2'], '{}');
      const exchange = await relayed(c, '/v2/smoke/set-cookie', { bytes });
      exchange.must(exchange.header('set-cookie') === undefined, 'no Set-Cookie');
    },
  },
  {
    id: 'reply.links',
    says: 'Location and Link that point at the Service point at the tenant’s origin; several stay apart',
    rule: 'design §9; service-api.md §4, Link',
    needs: 'inside',
    after: SIGNED_IN,
    async run(c) {
      const { origin } = c.inside.recorded;
      const links = ['/v2?a=1>; rel="next"', '/v2?b=2>; rel="last"'];
      const lines = links.map((link) => `Link: <http://{host}${link}`);
      const bytes = answer(201, [TYPE, 'Location: http://{host}/v2/smoke', ...lines], '{}');
      const exchange = await relayed(c, '/v2/smoke/links', { bytes });
      exchange.must(exchange.header('location') === `${origin}/v2/smoke`, `Location: ${origin}/v2/smoke`);
      const expected = links.map((link) => `<${origin}${link}`);
      exchange.must(
        exchange.headers('link').join('\n') === expected.join('\n'),
        `two Links, ${expected.join(' and ')}`,
      );
    },
  },
  {
    id: 'reply.truncated',
    says: 'an answer that breaks off upstream breaks off for the browser: it never looks whole',
    rule: 'design §9',
    needs: 'inside',
    after: SIGNED_IN,
    async run(c) {
      const head = `HTTP/1.1 200 OK\r\n${TYPE}\r\n`;
      const scripts: Record<string, string> = {
        length: `${head}Content-Length: 1000\r\n\r\n{"half":`,
        chunked: `${head}Transfer-Encoding: chunked\r\n\r\n8\r\n{"half":\r\n`,
      };
      for (const [name, bytes] of Object.entries(scripts)) {
        try {
          const exchange = await relayed(c, `/v2/smoke/truncated-${name}`, { bytes });
          const isHonest = exchange.status >= 500 || !exchange.reply.complete;
          exchange.must(isHonest, 'a connection that breaks before the body’s end, or a refusal');
        } catch (thrown) {
          // Broken off before the head was out: honest as well.
          if (!(thrown instanceof NoReply)) throw thrown;
        }
      }
    },
  },
  {
    id: 'reply.no-answer',
    says: 'an upstream that hangs up or talks nonsense is 502 upstream-failed',
    rule: 'design §9',
    needs: 'inside',
    after: SIGNED_IN,
    async run(c) {
      const scripts: Record<string, string> = { silent: '', nonsense: 'SMOKE\r\n\r\n' };
      for (const [name, bytes] of Object.entries(scripts)) {
        (await relayed(c, `/v2/smoke/${name}`, { bytes })).mustRefuse(502, 'upstream-failed');
      }
    },
  },
  {
    id: 'reply.stream',
    says: 'an event reaches the browser while the stream goes on',
    rule: 'design §9',
    needs: 'inside',
    after: SIGNED_IN,
    async run(c) {
      const path = '/v2/smoke/stream';
      const head = 'HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n';
      c.inside.recorder.script(path, { bytes: `${head}14\r\ndata: ${MARKER}\n\n\r\n`, leaveOpen: true });
      const user = await c.recorded();
      const wire = await Wire.open(user.site.address);
      try {
        wire.send(user.bytes('GET', path, { headers: [['Accept', 'text/event-stream']] }));
        await wire.head();
        await wire.text(`data: ${MARKER}`);
      } finally {
        wire.close();
      }
    },
  },
];
