import fc from 'fast-check';
import { describe, expect, it, onTestFinished } from 'vitest';
import { Secret } from '../../src/secret.ts';
import { Keyring } from '../../src/service/keyring.ts';
import { RateLimiter } from '../../src/service/rate-limit.ts';
import { Keypair } from '../../src/tenant.ts';
import { ADMIN, call, codeOf, exchange, OTHER, start, USER } from './client.ts';

const START = Date.UTC(2026, 2, 15, 12);

function limited(requests: number, window: number) {
  const record = new Keyring(requests).add({ accessKey: 'A', secretKey: new Secret('s'), isAdmin: false }, 0);
  const limiter = new RateLimiter({ requests, window });
  return (now: number) => limiter.forKeypair(record, now);
}

describe('the rolling window', () => {
  it('admits a request exactly when the window before it has room, as a plain count over all instants says', () => {
    const gaps = fc.array(fc.integer({ min: 0, max: 400 }), { maxLength: 200 });
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 40 }), fc.integer({ min: 1, max: 5_000 }), gaps, (limit, window, steps) => {
        const admit = limited(limit, window);
        const admitted: number[] = [];
        let now = START;
        for (const step of steps) {
          now += step;
          const within = admitted.filter((instant) => now - instant < window);
          const rate = admit(now);
          expect(rate.admitted).toBe(within.length < limit);
          if (rate.admitted) within.push(now);
          if (rate.admitted) admitted.push(now);
          expect(rate.remaining).toBe(limit - within.length);
          expect(rate.reset).toBe(Math.ceil(((within[0] ?? Number.NaN) + window - now) / 1000));
        }
      }),
    );
  });

  it('frees a request after Reset seconds and not before', () => {
    const admit = limited(1, 1_500);
    expect(admit(START)).toMatchObject({ admitted: true, remaining: 0, reset: 2 });
    expect(admit(START + 1_499)).toMatchObject({ admitted: false, remaining: 0, reset: 1 });
    expect(admit(START + 1_500)).toMatchObject({ admitted: true, remaining: 0 });
  });

  it('does not count refused requests: whoever keeps asking is served again all the same', () => {
    const admit = limited(2, 10_000);
    for (let second = 0; second < 10; second++) admit(START + second * 1000);
    expect(admit(START + 10_000).admitted).toBe(true);
  });

  it('remembers a bounded number of addresses, dropping the one that asked longest ago', () => {
    const limiter = new RateLimiter({ requests: 1, window: 1_000 });
    limiter.forAddress('10.0.0.1', START);
    expect(limiter.forAddress('10.0.0.1', START).admitted).toBe(false);
    for (let index = 0; index < 256; index++) limiter.forAddress(`10.1.0.${index}`, START);
    expect(limiter.forAddress('10.1.0.255', START).admitted).toBe(false);
    expect(limiter.forAddress('10.0.0.1', START).admitted).toBe(true);
  });
});

async function serve() {
  const clock = { now: START };
  const service = await start({ rateLimit: { requests: 3, window: 60_000 }, clock: () => clock.now });
  onTestFinished(() => service.close());
  return { service, clock };
}

describe('over HTTP', () => {
  it('counts down by one, refuses with 429 and Retry-After, and serves again when the window has moved', async () => {
    const { service, clock } = await serve();
    const remaining = [];
    for (const path of ['/v2', '/v2/nowhere', '/v2/kernel']) {
      remaining.push((await call(service, 'GET', path, { at: START })).headers['x-ratelimit-remaining']);
      clock.now += 1_000;
    }
    expect(remaining).toEqual(['2', '1', '0']);

    const refused = await call(service, 'GET', '/v2', { at: START });
    expect([refused.status, codeOf(refused)]).toEqual([429, 'rate-limit-exceeded']);
    expect(Object.keys(refused.body)).toEqual(['type', 'title', 'detail']);
    expect(refused.headers).toMatchObject({
      'retry-after': '57',
      'x-ratelimit-limit': '3',
      'x-ratelimit-remaining': '0',
      'x-ratelimit-reset': '57',
    });
    clock.now = START + 60_000;
    expect((await call(service, 'GET', '/v2', { at: START })).status).toBe(200);
    expect((await call(service, 'GET', '/v2', { at: START })).status).toBe(429);
  });

  it('keeps the quota of each access key apart', async () => {
    const { service } = await serve();
    for (let count = 0; count < 3; count++) await call(service, 'GET', '/v2', { at: START });
    expect((await call(service, 'GET', '/v2', { at: START })).status).toBe(429);
    expect((await call(service, 'GET', '/v2', { at: START, as: OTHER })).headers['x-ratelimit-remaining']).toBe('2');
  });

  it('does not let a forged signature use up the quota of the key it names', async () => {
    // Without this, anybody who knows an access key, which is no secret, could lock its owner out.
    const { service } = await serve();
    const forger = new Keypair(USER.accessKey, new Secret('guess'));
    const forged = [];
    for (let count = 0; count < 5; count++)
      forged.push((await call(service, 'GET', '/v2', { at: START, as: forger })).status);
    expect(forged).toEqual([401, 401, 401, 429, 429]);
    const own = await call(service, 'GET', '/v2', { at: START });
    expect([own.status, own.headers['x-ratelimit-remaining']]).toEqual([200, '2']);
  });

  it('is told on what cannot be parsed, too', async () => {
    const { service } = await serve();
    const reply = await exchange(service, 'GET /v2 HTTP/1.1\r\nBad Header: x\r\n\r\n');
    expect(reply).toMatch(/^HTTP\/1\.1 400 /);
    expect(reply).toMatch(/X-RateLimit-Limit: 3\r\nX-RateLimit-Remaining: 2\r\nX-RateLimit-Reset: 60\r\n/);
    expect(reply).toContain('application/problem+json');
  });

  it('honours a limit of the keypair’s own', async () => {
    const service = await start({ keypairs: [{ ...ADMIN, isAdmin: true, rateLimit: 2 }] });
    onTestFinished(() => service.close());
    expect((await call(service, 'GET', '/v2', { as: ADMIN })).headers['x-ratelimit-limit']).toBe('2');
    await call(service, 'GET', '/v2', { as: ADMIN });
    expect((await call(service, 'GET', '/v2', { as: ADMIN })).status).toBe(429);
  });
});
