import { createHash } from 'node:crypto';
import { type Check, Mismatch, RELAYED, SIGNED_IN } from '../check.ts';
import type { SmokeContext } from '../context.ts';
import { member } from '../exchange.ts';
import { type FrontEnd, HANDSHAKE } from '../front-end.ts';
import { shown } from '../redact.ts';
import { Wire } from '../wire.ts';

const GUID = '258EAFA5-E914-47DA-95CA-C5AB0DC85B11';
const MASK = [1, 2, 3, 4];
/** Milliseconds after the sign-out; far more than it takes. */
const CLOSED_WITHIN = 2000;

/** Opens the terminal of a new kernel. The caller closes the wire. */
async function openTerminal(c: SmokeContext, user: FrontEnd): Promise<Wire> {
  const kernel = await user.fetch('POST', '/v2/kernel/create', { body: '{"lang":"smoke"}' });
  const path = `/v2/stream/kernel/${member(kernel.json, 'id')}/pty`;
  const wire = await Wire.open(c.nobody.site.address);
  wire.send(user.bytes('GET', path, { headers: HANDSHAKE }));
  const head = await wire.head();
  const key = HANDSHAKE.find(([name]) => name === 'Sec-WebSocket-Key')?.[1];
  const accept = createHash('sha1').update(`${key}${GUID}`).digest('base64');
  const isOpen = head.status === 101 && head.headers.some(([, value]) => value === accept);
  if (!isOpen) {
    wire.close();
    const expected = '101 and the Sec-WebSocket-Accept of the key';
    throw new Mismatch({ sent: shown(wire.sent, c.secrets), received: shown(head.raw, c.secrets), expected });
  }
  return wire;
}

/** A short text message as a client sends it (RFC 6455 §5.2). */
function textFrame(text: string): Buffer {
  const masked = [...Buffer.from(text)].map((byte, i) => byte ^ (MASK[i % 4] ?? 0));
  return Buffer.from([0x81, 0x80 | masked.length, ...MASK, ...masked]);
}

/** WebSocket handshakes go through the same stages as requests (design §1). */
export const upgradeChecks: readonly Check[] = [
  {
    id: 'upgrade.foreign-origin',
    says: 'a WebSocket from a foreign origin is refused',
    rule: 'design §5, CSRF',
    needs: 'outside',
    after: SIGNED_IN,
    async run(c) {
      const user = await c.user();
      for (const proof of [
        [['Origin', 'https://smoke-foreign.example']],
        [['Sec-Fetch-Site', 'cross-site']],
      ] as const) {
        (await user.fetch('GET', '/v2', { headers: HANDSHAKE, proof })).mustRefuse(403, 'csrf', true);
      }
    },
  },
  {
    id: 'upgrade.unauthorized',
    says: 'a WebSocket without a session is 401',
    rule: 'design §1, §11',
    needs: 'outside',
    after: ['session.unauthorized'],
    async run(c) {
      (await c.nobody.fetch('GET', '/v2', { headers: HANDSHAKE })).mustRefuse(401, 'unauthorized', true);
    },
  },
  {
    id: 'upgrade.echo',
    says: 'a WebSocket of the front end opens, and messages pass both ways',
    rule: 'design §1, §9',
    needs: 'inside',
    after: [...RELAYED, 'signing.body-hash'],
    async run(c) {
      const wire = await openTerminal(c, await c.user());
      try {
        wire.send(textFrame('smoke'));
        await wire.text('smoke');
      } finally {
        wire.close();
      }
    },
  },
  {
    id: 'upgrade.ended',
    says: 'signing out closes the session’s open WebSockets',
    rule: 'design §5',
    needs: 'inside',
    after: ['upgrade.echo', 'session.ended'],
    async run(c) {
      const user = await c.freshUser();
      const wire = await openTerminal(c, user);
      try {
        const exchange = await user.fetch('DELETE', '/-/session');
        const isClosed = await wire.ended(CLOSED_WITHIN);
        exchange.must(isClosed, `the open WebSocket to be closed within ${CLOSED_WITHIN / 1000} s`);
      } finally {
        wire.close();
      }
    },
  },
];
