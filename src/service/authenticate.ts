import { createHash } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { EMPTY_BODY_HASH } from '../signing/canonical.ts';
import { DayKeyCache } from '../signing/day-key.ts';
import type { Dialect } from '../signing/dialect.ts';
import { type Refusal, verify } from '../signing/verify.ts';
import type { KeypairRecord, Keyring } from './keyring.ts';
import { ServiceProblem } from './problem.ts';

/**
 * Unknown key, inactive key and wrong signature share one answer: telling them apart would tell a stranger which access
 * keys exist.
 */
const DETAILS: Readonly<Record<Refusal, string>> = {
  'authorization-missing': 'The Authorization header is missing.',
  'access-key-unknown': 'The credential is not valid.',
  'signature-mismatch': 'The credential is not valid.',
  'authorization-malformed': 'The Authorization header is malformed.',
  'date-missing': 'The request has no date.',
  'date-invalid': 'The date of the request cannot be read.',
  'version-missing': 'The API version header is missing.',
  'clock-skew': 'The date of the request is more than 15 minutes from the server clock.',
};
const UNAUTHORIZED: ReadonlySet<Refusal> = new Set([
  'authorization-missing',
  'access-key-unknown',
  'signature-mismatch',
]);

/** The headers a signature covers or is carried by; the value is undefined where the header is absent. */
interface SignedHeaders {
  readonly host: string;
  readonly contentType: string;
  readonly authorization: string | undefined;
  readonly date: string | undefined;
  readonly version: string;
}

/** Checks signatures for one Service. */
export class Authenticator {
  readonly #dialect: Dialect;
  readonly #keyring: Keyring;
  readonly #signingKeys = new DayKeyCache();
  readonly #dateHeader: string;
  readonly #versionHeader: string;

  constructor(dialect: Dialect, keyring: Keyring) {
    this.#dialect = dialect;
    this.#keyring = keyring;
    this.#dateHeader = `${dialect.headerPrefix.toLowerCase()}date`;
    this.#versionHeader = `${dialect.headerPrefix.toLowerCase()}version`;
  }

  /** The text of the version header of a request that was verified. */
  versionOf(request: IncomingMessage): string {
    return single(request, this.#versionHeader) ?? '';
  }

  /**
   * The keypair that signed the request, whose body is `body`; `now` is epoch milliseconds (service-api.md §5).
   * Throws `unauthorized` or `invalid-auth-params`.
   */
  authenticate(request: IncomingMessage, body: Buffer, now: number): KeypairRecord {
    const headers = this.#signedHeaders(request);
    let signer: KeypairRecord | undefined;
    const lookup = (accessKey: string) => {
      const record = this.#keyring.find(accessKey);
      signer = record?.isActive ? record : undefined;
      return signer?.keypair;
    };
    const bodyHash = body.length === 0 ? EMPTY_BODY_HASH : createHash('sha256').update(body).digest('hex');
    const received = { ...headers, method: request.method ?? '', uri: request.url ?? '', bodyHash };
    const verdict = verify(this.#dialect, this.#signingKeys, lookup, received, now);
    if (!verdict.ok) throw this.#refused(verdict.reason);
    if (signer === undefined) throw this.#refused('access-key-unknown');
    return signer;
  }

  #signedHeaders(request: IncomingMessage): SignedHeaders {
    const host = single(request, 'host');
    if (!host) throw new ServiceProblem('invalid-auth-params', 'The Host header is missing.');
    return {
      host,
      contentType: single(request, 'content-type') ?? '',
      authorization: single(request, 'authorization'),
      date: single(request, 'date') ?? single(request, this.#dateHeader),
      version: this.versionOf(request),
    };
  }

  #refused(reason: Refusal): ServiceProblem {
    return UNAUTHORIZED.has(reason)
      ? new ServiceProblem('unauthorized', DETAILS[reason], { 'WWW-Authenticate': this.#dialect.scheme })
      : new ServiceProblem('invalid-auth-params', DETAILS[reason]);
  }
}

/** A signature over one of two values would leave open which of them was meant. */
function single(request: IncomingMessage, name: string): string | undefined {
  const values = request.headersDistinct[name];
  if (values !== undefined && values.length > 1) {
    throw new ServiceProblem('invalid-auth-params', `The header ${name} was sent more than once.`);
  }
  return values?.[0];
}
