/** One kind of request, the same bytes for every peer. */
export interface Workload {
  /** What `--only` calls it. */
  readonly name: string;
  readonly title: string;
  readonly method: string;
  readonly path: string;
  /** Besides Host and those a peer asks for. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | undefined;
}

/** What a page's script sends with every call to its own origin. */
export const PAGE_HEADERS = { Accept: 'application/json', 'Sec-Fetch-Site': 'same-origin' };

/** JSON text of exactly 1024 bytes. */
export function kilobyteOfJson(): string {
  const frame = JSON.stringify({ padding: '' });
  return JSON.stringify({ padding: 'x'.repeat(1024 - frame.length) });
}
