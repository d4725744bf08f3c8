import { createHash } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { ServiceProblem } from '../problem.ts';

const GUID = '258EAFA5-E914-47DA-95CA-C5AB0DC85B11';
/** 16 bytes in base64. */
const KEY = /^[A-Za-z0-9+/]{21}[AQgw]==$/;

/** The value of Sec-WebSocket-Accept (RFC 6455 §4.2.2). Throws `upgrade-required` or `malformed-request` (§4.2.1). */
export function acceptHandshake(request: IncomingMessage): string {
  const { headers } = request;
  if (headers['sec-websocket-version'] !== '13') throw upgradeRequired();
  const key = headers['sec-websocket-key'];
  const connection = headers.connection?.toLowerCase().split(',') ?? [];
  if (
    request.method !== 'GET' ||
    request.httpVersion !== '1.1' ||
    !connection.some((token) => token.trim() === 'upgrade')
  ) {
    throw new ServiceProblem('malformed-request', 'A WebSocket handshake is a GET request of HTTP/1.1.');
  }
  if (key === undefined || !KEY.test(key)) {
    throw new ServiceProblem('malformed-request', 'Sec-WebSocket-Key must be 16 bytes in base64.');
  }
  return createHash('sha1').update(`${key}${GUID}`).digest('base64');
}

export function upgradeRequired(): ServiceProblem {
  return new ServiceProblem('upgrade-required', 'This path speaks WebSocket, version 13.', {
    Connection: 'Upgrade',
    Upgrade: 'websocket',
    'Sec-WebSocket-Version': '13',
  });
}

/** Whether a request asks for the WebSocket protocol: other Upgrade tokens are ignored, as RFC 9110 §7.8 allows. */
export function asksForWebSocket(request: IncomingMessage): boolean {
  return request.headers.upgrade?.toLowerCase() === 'websocket';
}
