import { createHash } from 'node:crypto';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { type WebSocket, WebSocketServer } from 'ws';
import {
  ECHO_PATH,
  EVENT_INTERVAL,
  EVENTS_PATH,
  LARGE_BYTES,
  LARGE_PATH,
  RATE_HEADERS,
  REPLY_BODY,
  SEEN_PATH,
  type Seen,
  UPLOAD_PATH,
} from '../upstream-reply.ts';

/** The upstream: all of it, or what nginx cannot do where that stands in front. Argument: the port. */
const large = Buffer.alloc(LARGE_BYTES, 'x');
const subscribers = new Set<ServerResponse>();

const server = createServer({ keepAliveTimeout: 75_000 }, (request, reply) => {
  const path = request.url?.split('?', 1)[0];
  if (path === EVENTS_PATH) subscribe(request, reply);
  else if (path === LARGE_PATH) answer(reply, 'application/octet-stream', large);
  else if (path === SEEN_PATH) answerWithSeen(request, reply);
  else if (path === UPLOAD_PATH) answerWithLength(request, reply);
  else request.resume().once('end', () => answer(reply, 'application/json', REPLY_BODY));
});

function answer(reply: ServerResponse, type: string, body: string | Buffer): void {
  reply.writeHead(200, { 'Content-Type': type, 'Content-Length': Buffer.byteLength(body), ...RATE_HEADERS }).end(body);
}

function answerWithLength(request: IncomingMessage, reply: ServerResponse): void {
  let received = 0;
  request.on('data', (chunk: Buffer) => {
    received += chunk.length;
  });
  request.once('end', () => answer(reply, 'application/json', JSON.stringify({ received })));
}

function answerWithSeen(request: IncomingMessage, reply: ServerResponse): void {
  const hash = createHash('sha256');
  request.on('data', (chunk: Buffer) => hash.update(chunk));
  request.once('end', () => answer(reply, 'application/json', JSON.stringify(seen(request, hash.digest('hex')))));
}

function seen({ method = '', url = '', rawHeaders }: IncomingMessage, bodySha256: string | null): Seen {
  const headers = rawHeaders.flatMap((name, at) => (at % 2 === 0 ? [[name, rawHeaders[at + 1] ?? ''] as const] : []));
  return { method, target: url, headers, bodySha256 };
}

function subscribe(request: IncomingMessage, reply: ServerResponse): void {
  reply.writeHead(200, { 'Content-Type': 'text/event-stream', 'Cache-Control': 'no-store', ...RATE_HEADERS });
  reply.write(`event: seen\ndata: ${JSON.stringify(seen(request, null))}\n\n`);
  subscribers.add(reply);
  reply.once('close', () => subscribers.delete(reply));
}

setInterval(() => {
  const text = 'x'.repeat(100);
  for (const reply of subscribers) reply.write(`data: ${process.hrtime.bigint() / 1000n} ${text}\n\n`);
}, EVENT_INTERVAL);

const sockets = new WebSocketServer({ server, path: ECHO_PATH, perMessageDeflate: false });
sockets.on('connection', (socket: WebSocket, handshake: IncomingMessage) => {
  socket.on('message', (data: Buffer, isBinary: boolean) => {
    if (data.toString('latin1') === 'seen') socket.send(JSON.stringify(seen(handshake, null)));
    else socket.send(data, { binary: isBinary });
  });
  socket.on('error', () => socket.terminate());
});

server.listen(Number(process.argv[2]), '127.0.0.1');
