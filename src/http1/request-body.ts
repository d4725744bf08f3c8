import type { Socket } from 'node:net';
import { Readable } from 'node:stream';
import { giveReadBuffer, takeReadBuffer } from './read-buffers.ts';
import type { BodySource, WireRequest } from './wire.ts';

/**
 * Bytes of a body in memory that are handed to the connection at a time: of one write nothing shows before all of it was
 * taken, and a server that reads slowly must not look like one that does not.
 */
const PORTION = 256 * 1024;

/**
 * Writes a request whose body does not fit into one write with its head, no faster than the connection takes it. `onSent`:
 * the server has been sent all of it. Gives what to call when nobody wants the rest.
 */
export function sendWithBody(socket: Socket, { head, body, chunked }: WireRequest, onSent: () => void): () => void {
  if (body instanceof Buffer) return sendBuffers(socket, head, [body], onSent);
  if (Array.isArray(body)) return sendBuffers(socket, head, body, onSent);
  socket.write(head, 'latin1');
  if (body instanceof Readable) return sendStream(socket, body, chunked, onSent);
  return sendStored(socket, body as BodySource, onSent);
}

function sendBuffers(socket: Socket, head: string, buffers: readonly Buffer[], onSent: () => void): () => void {
  let isWanted = true;
  let index = 0;
  let from = 0;
  const portion = (error?: Error | null) => {
    if (!isWanted || error) return;
    if (index === buffers.length) return onSent();
    socket.cork();
    if (index === 0 && from === 0) socket.write(head, 'latin1');
    for (let room = PORTION; room > 0 && index < buffers.length; ) {
      const buffer = buffers[index] as Buffer;
      const piece = buffer.subarray(from, from + room);
      room -= piece.length;
      from += piece.length;
      if (from === buffer.length) {
        index++;
        from = 0;
      }
      const isLast = room <= 0 || index === buffers.length;
      socket.write(piece, isLast ? portion : undefined);
    }
    socket.uncork();
  };
  portion();
  return () => {
    isWanted = false;
  };
}

/** One buffer goes back and forth between source and connection. */
function sendStored(socket: Socket, body: BodySource, onSent: () => void): () => void {
  const buffer = takeReadBuffer();
  let stopped = false;
  const finish = () => giveReadBuffer(buffer.buffer);
  const onRead = (length: number) => {
    if (!stopped && length > 0) {
      socket.write(buffer.subarray(0, length), onWritten);
      return;
    }
    finish();
    if (!stopped) onSent();
  };
  const onWritten = (error?: Error | null) => {
    if (stopped || error) finish();
    else body.read(buffer, onRead);
  };
  body.read(buffer, onRead);
  return () => {
    stopped = true;
  };
}

/**
 * A body that is read bit by bit. `chunked` frames it (RFC 9112 §7.1); else its length has been declared. One that fails is
 * its owner's to notice.
 */
function sendStream(socket: Socket, body: Readable, chunked: boolean, onSent: () => void): () => void {
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
  return () => {
    detach();
    // The client goes on sending it, and may wait to be rid of it all before it reads its answer.
    body.resume();
  };
}
