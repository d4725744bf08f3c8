import type { Socket } from 'node:net';
import type { Readable } from 'node:stream';

/**
 * Writes a body that is read bit by bit, no faster than the connection takes it. `chunked` frames it (RFC 9112 §7.1); else
 * its length has been declared. `onSent`: all of it was handed to the connection. A body that fails is its owner's to notice.
 * Gives what to call when nobody wants the rest.
 */
export function sendStream(socket: Socket, body: Readable, chunked: boolean, onSent: () => void): () => void {
  const onData = (chunk: Buffer) => {
    if (chunk.length === 0) return;
    let flows: boolean;
    if (chunked) {
      socket.cork();
      socket.write(`${chunk.length.toString(16)}\r\n`, 'latin1');
      socket.write(chunk);
      flows = socket.write('\r\n', 'latin1');
      socket.uncork();
    } else {
      flows = socket.write(chunk);
    }
    if (!flows) body.pause();
  };
  const onDrain = () => body.resume();
  const onEnd = () => {
    detach();
    if (chunked) socket.write('0\r\n\r\n', 'latin1');
    onSent();
  };
  const detach = () => {
    socket.off('drain', onDrain);
    body.off('data', onData).off('end', onEnd);
  };
  socket.on('drain', onDrain);
  body.on('end', onEnd).on('data', onData);
  return detach;
}
