import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { Message } from './message.ts';

/** What is done to messages that pass. */
export interface Sabotage {
  /** Spoils a request, or answers it in the place of whoever is behind. */
  readonly request?: (request: Message) => Message | undefined;
  /** Spoils a response. The body is there when it has a Content-Length and came whole. */
  readonly response?: (response: Message, request: Message) => void;
  /** Makes a response that broke off look whole. */
  readonly mends?: boolean;
  /** Keeps a WebSocket open towards the client when it is closed behind. */
  readonly clings?: boolean;
  /** Responses that are broken off behind their head. */
  readonly hangsUp?: (response: Message) => boolean;
}

export interface Saboteur {
  readonly port: number;
  close(): Promise<void>;
}

/**
 * Stands between two parties on raw sockets, one request per connection, and passes every byte on but for the sabotage.
 * What has no certain length passes as it comes.
 */
export async function startSaboteur(targetPort: number, sabotage: Sabotage): Promise<Saboteur> {
  const sockets = new Set<Socket>();
  const server = createServer({ noDelay: true }, (client) => {
    const behind = connect({ port: targetPort, host: '127.0.0.1', noDelay: true });
    for (const socket of [client, behind]) {
      sockets.add(socket);
      socket.on('error', () => undefined);
    }
    client.once('close', () => behind.destroy());
    void relay(client, behind, sabotage);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    port: (server.address() as AddressInfo).port,
    async close() {
      server.close();
      for (const socket of sockets) socket.destroy();
      await once(server, 'close');
    },
  };
}

async function relay(client: Socket, behind: Socket, sabotage: Sabotage): Promise<void> {
  const received = await messageOf(client);
  if (received === undefined) return void client.destroy();
  const request = received.message;
  const asked = new Message(request.start, Buffer.alloc(0));
  const answer = sabotage.request?.(request);
  if (answer !== undefined) return void client.end(answer.bytes);
  behind.write(request.bytes);
  client.on('data', (chunk: Buffer) => behind.write(chunk));

  const answered = await messageOf(behind, asked.method === 'HEAD');
  if (answered === undefined) return void client.destroy();
  const response = answered.message;
  sabotage.response?.(response, request);
  if (response.status !== 101) {
    const others = response.values('connection').filter((value) => value !== 'keep-alive' && value !== 'close');
    response.set('Connection', [...others, 'close'].join(', '));
  }
  if (sabotage.hangsUp?.(response)) response.body = Buffer.alloc(0);
  if (answered.ended && sabotage.mends) response.setBody(response.body);
  client.write(response.bytes);
  if (answered.whole || answered.ended) return void client.end();
  if (sabotage.hangsUp?.(response)) return void client.end();
  behind.on('data', (chunk: Buffer) => client.write(chunk));
  const isChunked = response.value('transfer-encoding') === 'chunked';
  if (sabotage.clings && response.status === 101) return;
  behind.once('close', () => client.end(sabotage.mends && isChunked ? '0\r\n\r\n' : ''));
}

interface Received {
  readonly message: Message;
  /** All of the body is in it. */
  readonly whole: boolean;
  /** The connection ended before it was whole. */
  readonly ended: boolean;
}

/** One message: with its body where Content-Length says how long that is, else with what came along. */
function messageOf(socket: Socket, bodiless = false): Promise<Received | undefined> {
  return new Promise((resolve) => {
    let bytes: Buffer = Buffer.alloc(0);
    const done = (result: Received | undefined) => {
      socket.off('data', onData).off('end', onEnd).off('close', onEnd);
      resolve(result);
    };
    const parsed = (ended: boolean): Received | undefined => {
      const end = bytes.indexOf('\r\n\r\n');
      if (end === -1) return undefined;
      const message = new Message(bytes.subarray(0, end).toString('latin1'), bytes.subarray(end + 4));
      const lengths = message.values('content-length');
      const isSized =
        lengths.length === 1 && /^\d+$/.test(lengths[0] ?? '') && message.values('transfer-encoding').length === 0;
      const isBodiless = bodiless || message.status === 204 || message.status === 304;
      const whole = isBodiless || (isSized && message.body.length >= Number(lengths[0]));
      const waits = isSized && !whole;
      return waits && !ended ? undefined : { message, whole, ended };
    };
    const onData = (chunk: Buffer) => {
      bytes = Buffer.concat([bytes, chunk]);
      const result = parsed(false);
      if (result !== undefined) done(result);
    };
    const onEnd = () => done(parsed(true));
    socket.on('data', onData).on('end', onEnd).on('close', onEnd);
  });
}
