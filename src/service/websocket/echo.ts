import type { Duplex } from 'node:stream';
import { closeFrame, FrameReader, frame, type Incoming, OPCODE, WebSocketFault } from './frames.ts';

const MAX_MESSAGE = 1024 * 1024;
/** Milliseconds a peer has to finish its side of the connection after the close frame. */
const CLOSE_TIMEOUT = 2_000;

/**
 * Speaks WebSocket on an upgraded socket and sends every message back as it came. `head` are the bytes that followed
 * the handshake; `ended` closes the connection with 1001, "going away".
 */
export function echo(socket: Duplex, head: Buffer, ended: AbortSignal): void {
  const reader = new FrameReader(MAX_MESSAGE);
  const goAway = () => close(1001);

  function close(code: number, reason?: string): void {
    ended.removeEventListener('abort', goAway);
    socket.off('data', receive);
    // What still arrives is read and dropped: unread bytes would turn the close into a reset, and the code would be lost.
    socket.resume();
    socket.end(closeFrame(code, reason));
    const timer = setTimeout(() => socket.destroy(), CLOSE_TIMEOUT);
    socket.once('close', () => clearTimeout(timer));
  }

  /** Says whether the connection stays open. */
  function answer(incoming: Incoming): boolean {
    if (incoming.kind === 'close') {
      close(incoming.code);
      return false;
    }
    if (incoming.kind === 'message') write(frame(incoming.opcode, incoming.data));
    if (incoming.kind === 'ping') write(frame(OPCODE.pong, incoming.data));
    return true;
  }

  function write(bytes: Buffer): void {
    if (!socket.write(bytes) && !socket.isPaused()) {
      socket.pause();
      socket.once('drain', () => socket.resume());
    }
  }

  function receive(chunk: Buffer): void {
    try {
      for (const incoming of reader.push(chunk)) if (!answer(incoming)) return;
    } catch (thrown) {
      if (!(thrown instanceof WebSocketFault)) throw thrown;
      close(thrown.code, thrown.message);
    }
  }

  socket.on('data', receive);
  socket.on('error', () => socket.destroy());
  socket.once('end', () => socket.end());
  socket.once('close', () => ended.removeEventListener('abort', goAway));
  ended.addEventListener('abort', goAway, { once: true });
  if (ended.aborted) goAway();
  else if (head.length > 0) receive(head);
}
