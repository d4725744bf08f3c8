import { WebSocket } from 'ws';
import { latencyOf } from '../statistics.ts';
import { begin, finish, order } from './order.ts';

/** WebSockets that each send a message as soon as the one before has come back. Prints a LoadResult that counts echoes. */
const MESSAGE = 'x'.repeat(128);

const latencies: number[] = [];
let errors = 0;
let over = false;

/** Resolves with a socket that is open, or with nothing. */
function open(): Promise<WebSocket | undefined> {
  return new Promise((resolve) => {
    const socket = new WebSocket(`ws://127.0.0.1:${order.port}${order.path}`, { headers: order.headers });
    socket.on('open', () => resolve(socket));
    socket.on('error', () => undefined);
    socket.on('close', () => {
      if (!over) errors++;
      resolve(undefined);
    });
  });
}

/** Resolves when the time is over, or the socket closed. */
function echoAgainAndAgain(socket: WebSocket, endsAt: number): Promise<void> {
  return new Promise((resolve) => {
    let sentAt = 0;
    const say = () => {
      sentAt = performance.now();
      socket.send(MESSAGE);
    };
    socket.on('message', (data: Buffer) => {
      const now = performance.now();
      latencies.push(now - sentAt);
      if (data.toString('latin1') !== MESSAGE) errors++;
      if (now < endsAt) say();
      else resolve();
    });
    socket.on('close', () => resolve());
    say();
  });
}

const sockets = await Promise.all(Array.from({ length: order.connections }, open));
begin();
const startedAt = performance.now();
const endsAt = startedAt + order.seconds * 1000;
await Promise.all(sockets.map((socket) => socket && echoAgainAndAgain(socket, endsAt)));
over = true;
const seconds = (performance.now() - startedAt) / 1000;
const units = latencies.length;
finish(units === 0 ? { units, errors, seconds } : { units, errors, seconds, latency: latencyOf(latencies) });
