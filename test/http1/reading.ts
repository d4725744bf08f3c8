import { once } from 'node:events';
import { get } from 'node:http';
import { type AddressInfo, createServer } from 'node:net';
import type { ResponseHead } from '../../src/http1/response-head.ts';
import { ResponseParser } from '../../src/http1/response-parser.ts';
import { WireError } from '../../src/http1/wire-error.ts';

/** What a reader made of some bytes. */
export interface Reading {
  /** `cut`: the bytes ended before the response did. */
  readonly outcome: 'whole' | 'refused' | 'cut';
  readonly status: number | undefined;
  readonly body: string;
}

export interface OurReading extends Reading {
  readonly head: ResponseHead | undefined;
  /** Bytes behind the response, read by nobody. */
  readonly surplus: number;
}

const MAX_HEAD = 32 * 1024;

/** Our parser's reading of a response that arrives in these pieces, after which the server closes its side. */
export function readInPieces(pieces: Iterable<Buffer>, { isHead = false, maxHead = MAX_HEAD } = {}): OurReading {
  let head: ResponseHead | undefined;
  let body = '';
  let surplus = 0;
  let outcome: Reading['outcome'] = 'whole';
  const sink = {
    onHead: (it: ResponseHead) => {
      if (head !== undefined) throw new Error('a second head');
      head = it;
    },
    onData: (chunk: Buffer) => {
      if (chunk.length === 0) throw new Error('a chunk of nothing');
      body += chunk.toString('latin1');
    },
  };
  const parser = new ResponseParser(sink, maxHead);
  parser.expect(isHead);
  try {
    for (const piece of pieces) surplus += piece.length - parser.execute(piece);
    parser.finish();
  } catch (error) {
    if (!(error instanceof WireError)) throw error;
    outcome = error.code === 'UPSTREAM_CLOSED' ? 'cut' : 'refused';
  }
  return { outcome, status: head?.status, body, head, surplus };
}

export function readAtOnce(bytes: string, options: { isHead?: boolean; maxHead?: number } = {}): OurReading {
  return readInPieces([Buffer.from(bytes, 'latin1')], options);
}

/** What node:http, which is llhttp with its default settings, makes of the same bytes on a real connection. */
export async function readByNode(bytes: string, method: 'GET' | 'HEAD' = 'GET'): Promise<Reading> {
  const server = createServer({ allowHalfOpen: true }, (socket) => {
    socket.on('error', () => undefined);
    socket.once('data', () => socket.end(bytes, 'latin1'));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  let status: number | undefined;
  let body = '';
  const outcome = await new Promise<Reading['outcome']>((resolve) => {
    const failed = (error: NodeJS.ErrnoException) => resolve(error.code?.startsWith('HPE_') ? 'refused' : 'cut');
    const request = get({ port, method, agent: false, headers: { Connection: 'keep-alive' } }, (response) => {
      status = response.statusCode;
      response.setEncoding('latin1').on('data', (chunk: string) => {
        body += chunk;
      });
      response.on('error', failed).on('end', () => resolve('whole'));
    });
    request.on('error', failed);
    // Taken up, as nobody else would: the connection leaves HTTP.
    request.on('upgrade', (response, socket) => {
      status = response.statusCode;
      socket.destroy();
      resolve('whole');
    });
  });
  server.close();
  return { outcome, status, body };
}
