import { hash } from 'node:crypto';
import { Secret } from '../../secret.ts';
import { parseDate } from '../../signing/date.ts';
import { DayKeyCache } from '../../signing/day-key.ts';
import { DIALECTS } from '../../signing/dialect.ts';
import { parseAuthorization, verify } from '../../signing/verify.ts';
import { Keypair } from '../../tenant.ts';
import { type Check, SIGNED_IN } from '../check.ts';
import type { SmokeContext } from '../context.ts';
import type { RequestOptions } from '../front-end.ts';
import type { Forwarded } from '../recorder.ts';

const DIALECT = DIALECTS.service;
/** A signature is made when the request is sent: it may have aged by this much on its way, in milliseconds. */
const FRESH = 5000;

async function forwarded(c: SmokeContext, method: string, path: string, options?: RequestOptions): Promise<Forwarded> {
  return c.inside.recorder.forwarded(await c.recorded(), method, path, options);
}

/** Throws a Mismatch unless the request that arrived is signed over what arrived, body included. */
function mustVerify(c: SmokeContext, { exchange, arrival }: Forwarded, expected: string): void {
  const { accessKey, secretKey } = c.inside.recorderKey;
  const keypair = new Keypair(accessKey, new Secret(secretKey));
  const request = {
    method: arrival.method,
    uri: arrival.target,
    host: arrival.header('host') ?? '',
    contentType: arrival.header('content-type') ?? '',
    version: arrival.header('x-service-version') ?? '',
    bodyHash: hash('sha256', arrival.body, 'hex'),
    authorization: arrival.header('authorization'),
    date: arrival.header('date') ?? arrival.header('x-service-date'),
  };
  const verdict = verify(DIALECT, new DayKeyCache(1), () => keypair, request, undefined);
  arrival.must(verdict.ok, `${expected}${verdict.ok ? '' : ` (${verdict.reason})`}`, exchange.sent);
}

/** The stamp of every request that goes upstream (service-api.md §4, §5). */
export const signingChecks: readonly Check[] = [
  {
    id: 'signing.authorization',
    says: 'Authorization names the method and the access key of the caller’s role',
    rule: 'service-api.md §5.5',
    needs: 'inside',
    after: SIGNED_IN,
    async run(c) {
      const { exchange, arrival } = await forwarded(c, 'GET', '/v2/smoke/authorization');
      const header = arrival.header('authorization') ?? '';
      const { accessKey } = c.inside.recorderKey;
      arrival.must(
        header.startsWith('Service signMethod=HMAC-SHA256, ') &&
          parseAuthorization(DIALECT, header)?.accessKey === accessKey,
        `Authorization: Service signMethod=HMAC-SHA256, credential=${accessKey}:<64 hex digits>`,
        exchange.sent,
      );
    },
  },
  {
    id: 'signing.signature',
    says: 'the signature covers method, target with query, date, Host, Content-Type and version',
    rule: 'service-api.md §5.1–4',
    needs: 'inside',
    after: ['session.login', 'signing.authorization'],
    async run(c) {
      for (const method of ['GET', 'DELETE', 'REPORT']) {
        mustVerify(c, await forwarded(c, method, '/v2/smoke/signature?b=2&a=%7e'), 'a signature that verifies');
      }
    },
  },
  {
    id: 'signing.body-hash',
    says: 'the signature covers the body as sent, on REPORT as on POST',
    rule: 'service-api.md §5.2.7',
    needs: 'inside',
    after: ['session.login', 'signing.signature'],
    async run(c) {
      for (const method of ['POST', 'PUT', 'PATCH', 'REPORT', 'DELETE']) {
        const request = await forwarded(c, method, '/v2/smoke/body-hash', { body: '{ "smoke": "\u00e9" }' });
        mustVerify(c, request, 'a signature over the SHA-256 of the body that arrived');
      }
    },
  },
  {
    id: 'signing.content-type',
    says: 'Content-Type is signed as sent, and is application/json without a body',
    rule: 'service-api.md §4, §5.2.5',
    needs: 'inside',
    after: ['session.login', 'signing.body-hash'],
    async run(c) {
      const bodiless = await forwarded(c, 'GET', '/v2/smoke/content-type');
      const { arrival, exchange } = bodiless;
      arrival.must(
        arrival.header('content-type') === 'application/json',
        'Content-Type: application/json',
        exchange.sent,
      );
      const contentType = 'application/json; charset=utf-8';
      const request = await forwarded(c, 'POST', '/v2/smoke/content-type', { body: '{}', contentType });
      const passed = request.arrival.header('content-type') === contentType;
      request.arrival.must(passed, `Content-Type: ${contentType}`, request.exchange.sent);
      mustVerify(c, request, 'a signature over the Content-Type with its parameters');
    },
  },
  {
    id: 'signing.date',
    says: 'Date and X-Service-Date are equal, in the basic form, and of this moment',
    rule: 'service-api.md §4, §5.2.3, Clock; design §4',
    needs: 'inside',
    after: SIGNED_IN,
    async run(c) {
      const { exchange, arrival } = await forwarded(c, 'GET', '/v2/smoke/date');
      const [date = '', own] = [arrival.header('date'), arrival.header('x-service-date')];
      const age = arrival.at - (parseDate(date) ?? Number.NaN);
      arrival.must(/^\d{8}T\d{6}Z$/.test(date), 'a Date of the form YYYYmmddTHHMMSSZ', exchange.sent);
      arrival.must(own === date, 'X-Service-Date equal to Date', exchange.sent);
      const isFresh = age > -FRESH && age < FRESH;
      arrival.must(isFresh, `a Date of this moment, not one ${Math.round(age / 1000)} s ago`, exchange.sent);
    },
  },
  {
    id: 'signing.version',
    says: 'X-Service-Version is the tenant’s version, of the shape vX.yyyymmdd',
    rule: 'service-api.md §4, §9.1',
    needs: 'inside',
    after: SIGNED_IN,
    async run(c) {
      const { exchange, arrival } = await forwarded(c, 'GET', '/v2/smoke/version');
      const { version } = c.inside;
      const isSent = arrival.header('x-service-version') === version;
      arrival.must(isSent, `X-Service-Version: ${version}`, exchange.sent);
    },
  },
];
