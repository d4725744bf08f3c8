import { once } from 'node:events';
import { WebSocket } from 'ws';
import type { RunningPeer } from '../peer.ts';
import type { Seen } from '../upstream-reply.ts';
import type { RequestShape } from '../workload.ts';
import { checkSeen } from './seen.ts';

/** How long the handshake and the answers may take, in milliseconds. */
const LIMIT = 5000;

/** Rejects unless the peer lets a WebSocket through. */
export async function checkEcho(peer: RunningPeer, { path, headers }: RequestShape): Promise<void> {
  const url = `ws://127.0.0.1:${peer.port}${path}`;
  const socket = new WebSocket(url, { headers: { ...headers, Cookie: peer.cookie }, handshakeTimeout: LIMIT });
  const signal = AbortSignal.timeout(LIMIT);
  try {
    await once(socket, 'open', { signal });
    const echoed = await answerTo(socket, 'hello', signal);
    if (echoed !== 'hello') throw new Error(`echoes "hello" as "${echoed.slice(0, 200)}"`);
    checkSeen(peer, JSON.parse(await answerTo(socket, 'seen', signal)) as Seen, '');
  } finally {
    socket.on('error', () => undefined);
    socket.terminate();
  }
}

async function answerTo(socket: WebSocket, message: string, signal: AbortSignal): Promise<string> {
  socket.send(message);
  const [data] = await once(socket, 'message', { signal });
  return String(data);
}
