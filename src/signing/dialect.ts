/** One brand of the protocol: what differs between services that sign alike (service-api.md §5). */
export interface Dialect {
  /** `X-Service-`: the prefix of the Date, Version and Client-Token headers. */
  readonly headerPrefix: string;
  /** `Service`: the scheme of the Authorization header. */
  readonly scheme: string;
  /** `body`: the last line of the string to sign is the hash of the body as sent. `empty`: of the empty string, always. */
  readonly bodyHash: 'body' | 'empty';
  /** `full`: the Content-Type as sent is signed. `mime`: without its parameters, lowercased. */
  readonly contentType: 'full' | 'mime';
  /** How a verifier reads the date: reformatted to the basic form, or the header's own text. */
  readonly dateLine: 'basic' | 'verbatim';
}

export const DIALECTS = {
  service: { headerPrefix: 'X-Service-', scheme: 'Service', bodyHash: 'body', contentType: 'full', dateLine: 'basic' },
  'backend.ai': {
    headerPrefix: 'X-BackendAI-',
    scheme: 'BackendAI',
    bodyHash: 'empty',
    contentType: 'mime',
    dateLine: 'verbatim',
  },
} as const satisfies Record<string, Dialect>;

export type DialectName = keyof typeof DIALECTS;
