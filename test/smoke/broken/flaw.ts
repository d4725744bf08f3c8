import { createHash } from 'node:crypto';
import { Secret } from '../../../src/secret.ts';
import { EMPTY_BODY_HASH } from '../../../src/signing/canonical.ts';
import { DayKeyCache } from '../../../src/signing/day-key.ts';
import { DIALECTS } from '../../../src/signing/dialect.ts';
import { sign } from '../../../src/signing/sign.ts';
import { parseAuthorization } from '../../../src/signing/verify.ts';
import type { Identities } from '../../../src/smoke/local.ts';
import { Keypair } from '../../../src/tenant.ts';
import type { Message } from './message.ts';
import type { Sabotage } from './saboteur.ts';

/** A gateway with one thing wrong: spoiled towards the browser (`front`), towards the upstream (`back`), or misconfigured. */
export interface BrokenGateway {
  readonly flaw: string;
  /** The one check that must catch it. */
  readonly caughtBy: string;
  readonly front?: (identities: Identities) => Sabotage;
  readonly back?: (identities: Identities) => Sabotage;
  /** Keys added to the section `upstream` of every tenant. */
  readonly upstream?: object;
}

export const RATE = ['X-RateLimit-Limit', 'X-RateLimit-Remaining', 'X-RateLimit-Reset'];

export function setCookie(change: (text: string) => string): () => Sabotage {
  return () => ({ response: (response) => response.edit('set-cookie', change) });
}

export function added(name: string, value: string): () => Sabotage {
  return () => ({
    request(request) {
      request.add(name, value);
      return undefined;
    },
  });
}

/** Gives a login's answer the id the browser came with, and goes on with the real one behind the scenes. */
export function keptId(): Sabotage {
  const realId = new Map<string, string>();
  return {
    request(request) {
      request.edit('cookie', (cookie) => realId.get(cookie) ?? cookie);
      return undefined;
    },
    response(response, request) {
      const came = request.value('cookie');
      if (came === undefined || response.status !== 201) return;
      response.edit('set-cookie', (value) => {
        const [pair = '', ...attributes] = value.split(';');
        realId.set(came, pair);
        return [came, ...attributes].join(';');
      });
    },
  };
}

export function firstCookie(request: Message): undefined {
  request.edit('cookie', (cookie) => cookie.split('; ')[0]);
}

export function normalisedPath(request: Message): undefined {
  const [path = '', query] = request.target.split(/(?=[?#])(.*)/s);
  if (!path.startsWith('/')) return;
  const segments: string[] = [];
  for (const segment of path.replaceAll('\\', '/').replace(/%2e/gi, '.').split('/')) {
    if (segment === '..') segments.pop();
    else if (segment !== '.' && segment !== '') segments.push(segment);
  }
  const slash = path.length > 1 && path.endsWith('/') ? '/' : '';
  request.target = `/${segments.join('/')}${slash}${query ?? ''}`;
}

export function isProblem(message: Message): boolean {
  return message.value('content-type') === 'application/problem+json';
}

export function dropRate(message: Message): void {
  for (const name of RATE) message.drop(name);
}

export interface Resigning {
  /** Milliseconds the date lies in the past. */
  readonly age?: number;
  readonly secret?: string;
  /** What is hashed: the body, or the empty string. Default `empty`. */
  readonly hashes?: 'body' | 'empty';
  readonly version?: string;
}

/** Signs again what the gateway has signed: as of another moment, with another secret, never over a body. */
export function resigned(identities: Identities, { age = 0, secret, hashes = 'empty', version }: Resigning): Sabotage {
  const { visitor, admin, limited, recorder } = identities;
  const pairs = [visitor, admin, limited, recorder];
  return {
    request(request) {
      const known = parseAuthorization(DIALECTS.service, request.value('authorization') ?? '');
      const pair = pairs.find(({ accessKey }) => accessKey === known?.accessKey);
      if (pair === undefined) return undefined;
      if (version !== undefined) request.set('X-Service-Version', version);
      const bodyHash = hashes === 'empty' ? EMPTY_BODY_HASH : createHash('sha256').update(request.body).digest('hex');
      const signed = {
        method: request.method,
        uri: request.target,
        host: request.value('host') ?? '',
        contentType: request.value('content-type') ?? '',
        version: request.value('x-service-version') ?? '',
        bodyHash,
      };
      const keypair = new Keypair(pair.accessKey, new Secret(secret ?? pair.secretKey));
      const stamp = sign(DIALECTS.service, new DayKeyCache(1), keypair, signed, Date.now() - age);
      request.set('Date', stamp.date);
      request.set('X-Service-Date', stamp.date);
      request.set('Authorization', stamp.authorization);
      return undefined;
    },
  };
}
