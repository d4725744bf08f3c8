import type { SecureServerOptions, ServerHttp2Session } from 'node:http2';
import type { ListenSettings } from '../../snapshot.ts';

/** A connection that was told to go may take so long over it, in milliseconds. */
const LINGER = 1000;
/** Bytes a client may send unread on one connection; on one of its streams a quarter of it. */
const WINDOW = 1024 * 1024;

/** How much one connection may ask for at a time: each bound ends one way of asking for ever. */
export function http2Limits(settings: ListenSettings): SecureServerOptions {
  return {
    settings: {
      enablePush: false,
      enableConnectProtocol: false,
      maxConcurrentStreams: 100,
      initialWindowSize: WINDOW / 4,
      // Twice what is allowed, so that somewhat too much is refused with 431 and not by a reset.
      maxHeaderListSize: settings.maxHeaderSize * 2,
    },
    // Counted by intake, which refuses with a problem; this bounds what is parsed before.
    maxHeaderListPairs: 2048,
    // Streams opened only to be reset (CVE-2023-44487): so many at once, and so many a second.
    streamResetBurst: 1000,
    streamResetRate: 33,
    maxSessionInvalidFrames: 100,
    maxSessionRejectedStreams: 100,
    // Entries in one SETTINGS frame. Answers to PING and SETTINGS that pile up end the connection at a thousand.
    maxSettings: 16,
    // Megabytes.
    maxSessionMemory: 10,
    strictSingleValueFields: false,
  };
}

/**
 * The connections that speak HTTP/2: ended when they lie idle, however much they fidget below any request, and cut off
 * when the client does not close its side of one that is over.
 */
export class Http2Connections {
  readonly #settings: Pick<ListenSettings, 'headerTimeout' | 'keepAlive'>;
  readonly #open = new Map<ServerHttp2Session, Connection>();

  constructor(settings: Pick<ListenSettings, 'headerTimeout' | 'keepAlive'>) {
    this.#settings = settings;
  }

  /** Takes a new connection in. Only an open stream counts as activity; a head that drips in does not. */
  adopt(session: ServerHttp2Session): void {
    session.setLocalWindowSize(WINDOW);
    const { destroySoon } = session.socket;
    const connection: Connection = { streams: 0, timer: undefined, hangUp: () => destroySoon() };
    this.#open.set(session, connection);
    const expectStream = (within: number) => {
      connection.timer = setTimeout(() => {
        session.close();
        this.closeIdle();
      }, within);
    };
    expectStream(this.#settings.headerTimeout);
    session.on('stream', (stream) => {
      clearTimeout(connection.timer);
      connection.streams++;
      stream.once('close', () => {
        connection.streams--;
        if (connection.streams === 0 && !session.closed) expectStream(this.#settings.keepAlive);
      });
    });
    session.once('close', () => {
      clearTimeout(connection.timer);
      this.#open.delete(session);
    });
  }

  /** Cuts off, after a moment, those that were told to go and have nothing left to do. */
  closeIdle(): void {
    for (const [session, connection] of this.#open) {
      if (!session.closed || connection.streams > 0 || connection.isLeaving) continue;
      connection.isLeaving = true;
      clearTimeout(connection.timer);
      connection.timer = setTimeout(connection.hangUp, LINGER);
    }
  }
}

interface Connection {
  streams: number;
  timer: NodeJS.Timeout | undefined;
  isLeaving?: boolean;
  /** Closes the socket itself. */
  readonly hangUp: () => void;
}
