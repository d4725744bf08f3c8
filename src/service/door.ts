import type { IncomingMessage } from 'node:http';
import type { Authenticator } from './authenticate.ts';
import type { Caller } from './call.ts';
import { asServiceProblem, ServiceProblem } from './problem.ts';
import type { Rate, RateLimiter } from './rate-limit.ts';
import { type ApiVersion, requireVersion } from './version.ts';

/** Every request has a rate, admitted or not: its headers are on every response (service-api.md §7.5). */
export type Entry =
  | { readonly rate: Rate; readonly caller: Caller }
  | { readonly rate: Rate; readonly problem: ServiceProblem };

/**
 * Where every request passes, whatever its path: signature, quota, version, content type. Only a verified request counts
 * against its keypair's quota; every other counts against its address.
 */
export class Door {
  readonly #authenticator: Authenticator;
  readonly #limiter: RateLimiter;
  readonly #latest: ApiVersion;
  readonly #clock: () => number;

  constructor(authenticator: Authenticator, limiter: RateLimiter, latest: ApiVersion, clock: () => number) {
    this.#authenticator = authenticator;
    this.#limiter = limiter;
    this.#latest = latest;
    this.#clock = clock;
  }

  /** Lets a request in, or says why not. `body` is what it sent. */
  enter(request: IncomingMessage, body: Buffer): Entry {
    const now = this.#clock();
    try {
      const signer = this.#authenticator.authenticate(request, body, now);
      const rate = this.#limiter.forKeypair(signer, now);
      return rate.admitted ? this.#admitted(request, signer, rate) : { rate, problem: exhausted(rate) };
    } catch (thrown) {
      return this.refuse(request.socket.remoteAddress, asServiceProblem(thrown));
    }
  }

  /** Counts a refusal that comes before or in place of a signature against the client's address. */
  refuse(address: string | undefined, problem: ServiceProblem): { rate: Rate; problem: ServiceProblem } {
    const rate = this.#limiter.forAddress(address ?? '', this.#clock());
    return { rate, problem: rate.admitted ? problem : exhausted(rate) };
  }

  #admitted(request: IncomingMessage, signer: Caller['signer'], rate: Rate): Entry {
    try {
      const version = requireVersion(this.#authenticator.versionOf(request).trim(), this.#latest);
      requireJson(request);
      return { rate, caller: { signer, version } };
    } catch (thrown) {
      return { rate, problem: asServiceProblem(thrown) };
    }
  }
}

/** Content-Type is always application/json, body or none (service-api.md §4); parameters such as charset are ignored. */
function requireJson(request: IncomingMessage): void {
  const [mediaType = ''] = (request.headers['content-type'] ?? '').split(';');
  if (mediaType.trim().toLowerCase() !== 'application/json') {
    throw new ServiceProblem('unsupported-media-type', 'The Content-Type must be application/json.', {
      Accept: 'application/json',
    });
  }
}

function exhausted(rate: Rate): ServiceProblem {
  return new ServiceProblem('rate-limit-exceeded', `The quota of ${rate.limit} requests is used up.`, {
    'Retry-After': String(rate.reset),
  });
}
