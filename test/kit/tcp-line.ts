import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';

/** A TCP line to a loopback port that the test can cut, mend and hold. */
export interface TcpLine {
  readonly port: number;
  /** Breaks every connection, and each new one until it is mended. */
  cut(): void;
  mend(): void;
  /** Connections that were broken because the line was cut. */
  readonly refused: number;
  /**
   * Keeps back what the server says on connections whose client has sent `word` among its first bytes, such as the name
   * it gives itself. What the client says still passes. Gives what lets it all go.
   */
  hold(word: string): () => void;
  close(): void;
}

interface Call {
  readonly near: Socket;
  readonly far: Socket;
  /** The first bytes of the client. */
  opening: string;
}

export async function openLine(port: number): Promise<TcpLine> {
  const calls = new Set<Call>();
  const held = new Set<string>();
  let isCut = false;
  let refused = 0;

  const isHeld = ({ opening }: Call) => [...held].some((word) => opening.includes(word));
  const server = createServer((near) => {
    if (isCut) {
      refused++;
      return near.destroy();
    }
    const call: Call = { near, far: connect(port, '127.0.0.1'), opening: '' };
    calls.add(call);
    near.on('data', (chunk: Buffer) => {
      if (call.opening.length < 4096) call.opening += chunk.toString('latin1');
      if (isHeld(call)) call.far.pause();
      call.far.write(chunk);
    });
    call.far.on('data', (chunk: Buffer) => near.write(chunk));
    for (const [one, other] of [
      [near, call.far],
      [call.far, near],
    ] as const) {
      one.on('error', () => other.destroy()).on('close', () => other.destroy() && calls.delete(call));
    }
    return undefined;
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');

  return {
    port: (server.address() as AddressInfo).port,
    cut() {
      isCut = true;
      for (const { near, far } of calls) {
        near.destroy();
        far.destroy();
      }
    },
    mend() {
      isCut = false;
    },
    get refused() {
      return refused;
    },
    hold(word) {
      held.add(word);
      for (const call of calls) if (isHeld(call)) call.far.pause();
      return () => {
        held.delete(word);
        for (const call of calls) if (!isHeld(call)) call.far.resume();
      };
    },
    close() {
      server.close();
      for (const { near } of calls) near.destroy();
    },
  };
}
