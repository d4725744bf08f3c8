/** What can go wrong on a connection to a server besides what the operating system reports. */
export type WireErrorCode =
  | 'UPSTREAM_CONNECT_TIMEOUT'
  | 'UPSTREAM_HEADERS_TIMEOUT'
  | 'UPSTREAM_IDLE_TIMEOUT'
  | 'UPSTREAM_CLOSED'
  | 'UPSTREAM_MALFORMED'
  | 'UPSTREAM_OUT_OF_USE'
  | 'CLIENT_STALLED';

/** A failure of an HTTP exchange, told by its code. */
export class WireError extends Error {
  override readonly name = 'WireError';
  readonly code: WireErrorCode;

  constructor(code: WireErrorCode, detail: string) {
    super(detail);
    this.code = code;
  }
}

/** The bytes are no HTTP/1.1 response, or one that two parties could read differently. */
export function malformed(detail: string): WireError {
  return new WireError('UPSTREAM_MALFORMED', detail);
}
