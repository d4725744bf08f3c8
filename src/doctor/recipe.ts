import { createHash } from 'node:crypto';
import type { Secret } from '../secret.ts';
import { EMPTY_BODY_HASH, type SignedRequest, stringToSign } from '../signing/canonical.ts';
import { stampOf } from '../signing/date.ts';
import { DayKeyCache } from '../signing/day-key.ts';
import type { Dialect } from '../signing/dialect.ts';
import { sign } from '../signing/sign.ts';
import { Keypair } from '../tenant.ts';
import type { UpstreamTls } from '../tls.ts';
import { ask, type Reply } from './http.ts';
import type { ExplainedLine } from './report.ts';

/** The version endpoint (service-api.md §4). */
export const VERSION_PATH = '/v2';

/** Everything a signed request is made of that could differ from what the upstream expects. */
export interface Recipe {
  readonly endpoint: string;
  readonly tls: UpstreamTls | undefined;
  readonly accessKey: string;
  readonly secretKey: Secret;
  readonly dialect: Dialect;
  readonly version: string;
  /** The Host header. */
  readonly hostSent: string;
  /** The host the signature is over; the same, but for an experiment. */
  readonly hostSigned: string;
  /** Milliseconds added to this machine's clock. */
  readonly clockOffset: number;
  readonly timeout: number;
}

/** What is asked with a recipe. */
export interface Request {
  readonly method: 'GET' | 'REPORT';
  readonly contentType: string;
  readonly body: string;
  /** Signed in place of the content type or the body that is sent, for a signature that cannot be right. */
  readonly pretends?: { readonly contentType?: string; readonly body?: string };
}

export const GET_VERSION: Request = { method: 'GET', contentType: 'application/json', body: '' };

export interface SignedAnswer {
  readonly reply: Reply;
  /** Epoch milliseconds the signature was made for. */
  readonly signedFor: number;
  /** What must not be shown should the upstream repeat it. */
  readonly secrets: readonly string[];
}

/** Signs the request as the gateway does and sends it. Rejects as `ask` does. */
export async function askSigned(recipe: Recipe, request: Request, now: () => number): Promise<SignedAnswer> {
  const { dialect, accessKey, secretKey } = recipe;
  const signedFor = now() + recipe.clockOffset;
  const keypair = new Keypair(accessKey, secretKey);
  const { date, authorization } = sign(dialect, new DayKeyCache(1), keypair, signedRequest(recipe, request), signedFor);
  const reply = await ask(
    {
      endpoint: recipe.endpoint,
      tls: recipe.tls,
      method: request.method,
      path: VERSION_PATH,
      host: recipe.hostSent,
      headers: [
        ...['Host', recipe.hostSent, 'Content-Type', request.contentType, 'Date', date],
        ...[`${dialect.headerPrefix}Date`, date, `${dialect.headerPrefix}Version`, recipe.version],
        // Headers go out as latin1; the bytes that were signed are UTF-8.
        ...['Authorization', Buffer.from(authorization, 'utf8').toString('latin1')],
      ],
      body: request.body,
      timeout: recipe.timeout,
    },
    now,
  );
  const signature = authorization.slice(authorization.lastIndexOf(':') + 1);
  return { reply, signedFor, secrets: [secretKey.reveal(), signature] };
}

/** The same request without Date, Version and Authorization. */
export function askUnsigned(recipe: Omit<Recipe, 'accessKey' | 'secretKey'>, now: () => number): Promise<Reply> {
  const { endpoint, tls, hostSent: host, timeout } = recipe;
  const headers = ['Host', host, 'Content-Type', GET_VERSION.contentType];
  return ask({ endpoint, tls, method: 'GET', path: VERSION_PATH, host, headers, timeout }, now);
}

function signedRequest(recipe: Recipe, { method, contentType, body, pretends = {} }: Request): SignedRequest {
  const signedBody = pretends.body ?? body;
  return {
    method,
    uri: VERSION_PATH,
    host: recipe.hostSigned,
    contentType: pretends.contentType ?? contentType,
    version: recipe.version,
    bodyHash: signedBody === '' ? EMPTY_BODY_HASH : createHash('sha256').update(signedBody).digest('hex'),
  };
}

/**
 * The string to sign of `GET` of the version endpoint, line by line, and what the signing key is made of. No secrets.
 * `place` is where the configuration has the keypair.
 */
export function explain(recipe: Recipe, at: number, place: string, hasSignedHost: boolean): ExplainedLine[] {
  const { basic, day } = stampOf(at);
  const host = hasSignedHost ? 'upstream.signedHost' : 'the endpoint’s own host and port';
  const from = [
    ['method', 'the request'],
    ['URI', 'the version endpoint, with its query string'],
    ['date', 'this machine’s clock, in UTC'],
    ['host', host],
    ['content type', 'application/json for a request without a body'],
    ['version', 'upstream.version'],
    ['body hash', 'SHA-256 of no bytes'],
  ] as const;
  const lines = stringToSign(recipe.dialect, signedRequest(recipe, GET_VERSION), basic).split('\n');
  return [
    ...from.map(([name, origin], i) => ({ name, value: lines[i] ?? '', from: origin })),
    { name: 'key: day', value: day, from: 'the date' },
    { name: 'key: host', value: recipe.hostSigned, from: host },
    { name: 'key: secret', value: '(not shown)', from: `${place}.secretKey` },
    { name: 'scheme', value: recipe.dialect.scheme, from: 'upstream.dialect' },
    { name: 'access key', value: recipe.accessKey, from: `${place}.accessKey` },
  ];
}
