import { get } from 'node:http';
import { text } from 'node:stream/consumers';
import type { RunningPeer } from '../peer.ts';
import type { Seen } from '../upstream-reply.ts';
import type { RequestShape } from '../workload.ts';
import { checkSeen } from './seen.ts';

/** How long the first events may take, in milliseconds. */
const LIMIT = 5000;

/** Rejects unless the peer relays an event stream while it goes on. */
export async function checkEvents(peer: RunningPeer, { path, headers }: RequestShape): Promise<void> {
  const seen = await new Promise<Seen>((resolve, reject) => {
    const { port, cookie } = peer;
    const stream = get({ port, host: '127.0.0.1', path, headers: { ...headers, Cookie: cookie }, agent: false });
    const fail = (error: Error) => {
      stream.destroy();
      reject(error);
    };
    const timer = setTimeout(() => fail(new Error(`relays no event in ${LIMIT} ms`)), LIMIT);
    stream.once('close', () => clearTimeout(timer)).once('error', reject);
    stream.once('response', (response) => {
      if (response.statusCode !== 200) {
        text(response).then((body) => fail(new Error(`answers ${response.statusCode} ${body.slice(0, 200)}`)), fail);
        return;
      }
      let received = '';
      response.once('error', () => undefined).setEncoding('utf8');
      response.on('data', (chunk: string) => {
        received += chunk;
        const first = /^event: seen\ndata: (.+)\n\n[\s\S]*?^data: \d+ .+\n\n/m.exec(received)?.[1];
        if (first === undefined) return;
        resolve(JSON.parse(first) as Seen);
        stream.destroy();
      });
      response.once('end', () => fail(new Error('ends the event stream')));
    });
  });
  checkSeen(peer, seen, '');
}
