import { once } from 'node:events';
import { afterEach, describe, expect, it } from 'vitest';
import { WebSocket } from 'ws';
import { Secret } from '../../src/secret.ts';
import { startService } from '../../src/service/server.ts';
import { FrontEnd, HOST, ORIGIN, type RequestOptions } from '../kit/front-end.ts';
import { KEYPAIR, OPAQUE, type StartOptions, startGateway, type TestGateway } from '../kit/gateway.ts';
import { startOperator } from '../kit/operator.ts';
import { type StrictUpstream, startStrictUpstream } from '../kit/strict-upstream.ts';

const SECOND = 1000;
const MINUTE = 60 * SECOND;
const DAY = 24 * 60 * MINUTE;

/** How far the upstream's clock is ahead of the gateway's. */
let ahead = 0;
/** Added to both clocks: a date is looked at once a second. */
let passed = 0;
let upstream: StrictUpstream;
let gateway: TestGateway;
let page: FrontEnd;
const others: { close(): Promise<unknown> }[] = [];

const ours = () => Date.now() + passed;
const theirs = () => ours() + ahead;

async function start(options: StartOptions = {}): Promise<void> {
  ({ upstream, gateway } = await startGateway({
    clock: ours,
    upstreamClock: theirs,
    tellsTime: true,
    ...options,
  }));
  page = await FrontEnd.signIn(gateway.port);
}

afterEach(async () => {
  passed = 0;
  await Promise.all(others.splice(0).map((other) => other.close()));
  await gateway.close();
  await upstream.close();
});

const send = async (method = 'POST', target = '/v2', options: RequestOptions = { body: '{}' }) =>
  (await page.fetch(method, target, options)).status;

const lines = () => gateway.log.map((line) => JSON.parse(line) as Record<string, string | number>);
const alarms = () =>
  lines().flatMap(({ level, msg }) => (String(msg).startsWith('the clocks') ? `${level}: ${msg}` : []));
const verdicts = () => upstream.requests.map(({ verdict }) => verdict.why);
const LATE = 'clock deviates by more than 15 minutes';

const AGREE = 'info: the clocks of upstream and gateway agree again';
const OFF = 'warn: the clocks of upstream and gateway are more than 30 s apart';
const ALARM = 'error: the clocks of upstream and gateway are more than 5 min apart';

describe.each([
  ['ahead', 20 * MINUTE],
  ['behind', -20 * MINUTE],
])('the reference Service, its clock 20 min %s', (_, skew) => {
  it('refuses no request that a user sent, under load, and again when its clock is set right', async () => {
    ahead = skew;
    const keypairs = [{ ...KEYPAIR, secretKey: new Secret(KEYPAIR.secretKey), isAdmin: false }];
    const service = await startService({ host: '127.0.0.1', port: 0, keypairs, clock: theirs });
    others.push(service);
    await start({ upstream: { endpoints: [service.origin] } });
    const load = async (pages: number, each: number) => {
      const visit = async () => {
        const client = await page.connect();
        const seen: number[] = [];
        for (let i = 0; i < each; i++) seen.push((await page.fetch('GET', '/v2', {}, client)).status);
        client.destroy();
        return seen;
      };
      const answers = (await Promise.all(Array.from({ length: pages }, visit))).flat();
      expect(answers).toHaveLength(pages * each);
      expect(answers.filter((status) => status !== 200)).toEqual([]);
    };
    const resent = () => lines().filter(({ attempts }) => Number(attempts) > 1).length;

    expect(await send('GET', '/v2', {})).toBe(200);
    expect(resent()).toBe(1);
    await load(10, 40);
    // After the first answer not one was refused on the way either.
    expect(resent()).toBe(1);
    expect(alarms()).toEqual([ALARM]);

    ahead = 0;
    await load(10, 40);
    expect(alarms()).toEqual([ALARM, AGREE]);
    expect(resent()).toBeLessThanOrEqual(1 + 10);
  });
});

describe('a Service that answers a wrong date with 401, as it does a wrong key', () => {
  it('loses us no keypair, however many requests were under way', async () => {
    ahead = 20 * MINUTE;
    await start();
    expect(await Promise.all(Array.from({ length: 20 }, () => send()))).toEqual(Array(20).fill(200));
    expect(lines().filter(({ msg }) => String(msg).startsWith('keypair'))).toEqual([]);
    const before = verdicts().filter((why) => why === LATE).length;
    expect(before).toBeLessThanOrEqual(20);
    expect(await Promise.all(Array.from({ length: 20 }, () => send()))).toEqual(Array(20).fill(200));
    expect(verdicts().filter((why) => why === LATE)).toHaveLength(before);
  });

  it('is understood on each of several endpoints', async () => {
    ahead = 20 * MINUTE;
    const keypairs = { [KEYPAIR.accessKey]: KEYPAIR.secretKey };
    const two = await Promise.all([0, 1].map(() => startStrictUpstream({ keypairs, clock: theirs, tellsTime: true })));
    others.push(...two);
    await start({ upstream: { endpoints: two.map(({ origin }) => origin) } });
    expect([await send(), await send(), await send()]).toEqual([200, 200, 200]);
  });

  it('accepts WebSocket handshakes once its clock is known', async () => {
    ahead = -20 * MINUTE;
    await start({
      respond: async (request, answer) => {
        if (request.target === '/v2/stream') await answer.webSocket();
      },
    });
    expect(await send()).toBe(200);
    const headers = { Host: HOST, Cookie: page.cookie, Origin: ORIGIN, 'Sec-Fetch-Site': 'same-origin' };
    const socket = new WebSocket(`ws://127.0.0.1:${gateway.port}/v2/stream`, { headers });
    await once(socket, 'open');
    socket.terminate();
    expect(verdicts()).toEqual([LATE, 'verified', 'verified']);
  });

  it('refuses the first handshake, and that teaches its clock', async () => {
    ahead = 20 * MINUTE;
    await start();
    const headers = { Host: HOST, Cookie: page.cookie, Origin: ORIGIN, 'Sec-Fetch-Site': 'same-origin' };
    const socket = new WebSocket(`ws://127.0.0.1:${gateway.port}/v2/stream`, { headers });
    const [, response] = await once(socket, 'unexpected-response');
    expect(response.statusCode).toBe(401);
    expect(await send()).toBe(200);
    expect(verdicts()).toEqual([LATE, 'verified']);
    expect(lines().filter(({ msg }) => String(msg).startsWith('keypair'))).toEqual([]);
  });

  it('refuses the first body that is streamed, which cannot be sent again, and no other', async () => {
    ahead = 20 * MINUTE;
    await start({ dialect: 'backend.ai' });
    const streamed = { headers: [['Content-Type', OPAQUE] as const], body: 'bytes' };
    expect(await send('POST', '/v2', streamed)).toBe(401);
    expect(await send('POST', '/v2', streamed)).toBe(200);
    expect(lines().filter(({ msg }) => String(msg).startsWith('keypair'))).toEqual([]);
  });
});

it('operators are told at 30 s and at 5 min, and when it is over', async () => {
  ahead = 0;
  await start();
  const operator = await startOperator(gateway.watched, { clock: ours });
  others.push(operator);
  const read = async (path: string) => (await fetch(`${operator.origin}${path}`)).text();
  const metric = async (name: string) => {
    const sample = `countersign_upstream_clock_${name}{endpoint="${upstream.origin}"}`;
    const line = (await read('/metrics')).split('\n').find((one) => one.startsWith(sample));
    return Number(line?.split(' ')[1]);
  };
  const told = async () => {
    const readiness = JSON.parse(await read('/readyz'));
    const { endpoints } = JSON.parse(await read('/api/endpoints'));
    return [readiness.status, readiness.tenants.acme.clock, endpoints[0].clock.state, await metric('alarm')];
  };
  /** Enough answers, a second apart, for a clock that was set to be believed. */
  const setClock = async (to: number) => {
    ahead = to;
    for (let i = 0; i < 3; i++) {
      passed += 2 * SECOND;
      expect(await send()).toBe(200);
    }
  };
  await setClock(0);
  expect(await told()).toEqual(['ready', 'ok', 'ok', 0]);
  expect(await metric('offset_seconds')).toBe(0);
  await setClock(40 * SECOND);
  expect(await told()).toEqual(['ready', 'off', 'off', 0]);
  expect(Math.abs((await metric('offset_seconds')) - 40)).toBeLessThan(1.5);
  await setClock(6 * MINUTE);
  expect(await told()).toEqual(['ready', 'alarm', 'alarm', 1]);
  await setClock(0);
  expect(await told()).toEqual(['ready', 'ok', 'ok', 0]);
  expect(await metric('offset_seconds')).toBe(0);
  expect(alarms()).toEqual([OFF, ALARM, AGREE]);
});

it('with followClock: false requests are signed in our time and refused, and operators are told all the same', async () => {
  ahead = 20 * MINUTE;
  await start({ upstream: { followClock: false } });
  expect([await send(), await send()]).toEqual([401, 401]);
  expect(verdicts()).toEqual([LATE, LATE]);
  expect(alarms()).toEqual([ALARM]);
});

describe('what is not taken for a wrong clock', () => {
  it.each([400, 401])(
    'a problem %i of a Service whose clock is right is relayed, the request sent once',
    async (status) => {
      ahead = 0;
      await start({ respond: (_, answer) => answer.json(status, { type: 'x', title: 'no' }) });
      expect(await send()).toBe(status);
      expect(upstream.requests).toHaveLength(1);
    },
  );

  it('a 400 of a program behind a Service whose clock is wrong: it is no problem+json', async () => {
    ahead = 10 * MINUTE;
    const html = () =>
      [
        ['Content-Type', 'text/html'],
        ['Date', new Date(theirs()).toUTCString()],
      ] as const;
    await start({ respond: (_, answer) => answer.send(400, html(), 'no') });
    expect(await send()).toBe(400);
    expect(upstream.requests).toHaveLength(1);
  });

  it('a refusal that comes again in the right time is relayed: nobody is asked three times', async () => {
    ahead = 10 * MINUTE;
    await start({ respond: (_, answer) => answer.json(400, { type: 'x', title: 'no' }, dated()) });
    expect(await send()).toBe(400);
    expect(upstream.requests).toHaveLength(2);
  });

  // Whoever can write a Date header could collect signatures that become valid when it suits him.
  it.each([2 * DAY, 365 * DAY, -2 * DAY])('a date that is %i ms off is not signed', async (lie) => {
    ahead = 0;
    const date = () => [['Date', new Date(ours() + lie).toUTCString()]] as const;
    const begun = ours();
    await start({
      tellsTime: false,
      respond: (request, answer) => answer.json(request.target === '/v2/refused' ? 401 : 200, { type: 'x' }, date()),
    });
    for (let i = 0; i < 3; i++) {
      passed += 2 * SECOND;
      await send('POST', i === 1 ? '/v2/refused' : '/v2');
    }
    expect(verdicts()).toEqual(['verified', 'verified', 'verified']);
    const dates = upstream.heads.map(({ text }) => /^date: (\d{8})/im.exec(text)?.[1]);
    expect(new Set(dates).size).toBeLessThanOrEqual(
      new Date(begun).getUTCDate() === new Date(ours()).getUTCDate() ? 1 : 2,
    );
  });

  // A program that a user runs behind the Service may write what Date it likes.
  it('a date that somebody keeps lying about costs others one more attempt, and no refusal', async () => {
    ahead = 0;
    const lie = () => [['Date', new Date(ours() + 3 * 60 * MINUTE).toUTCString()]] as const;
    await start({
      respond: (request, answer) => (request.target === '/v2/program' ? answer.json(200, {}, lie()) : undefined),
    });
    for (let i = 0; i < 4; i++) {
      for (let j = 0; j < 3; j++) {
        passed += 2 * SECOND;
        await send('POST', '/v2/program');
      }
      expect([await send(), await send(), await send()]).toEqual([200, 200, 200]);
    }
    expect(verdicts().filter((why) => why === LATE).length).toBeGreaterThan(0);
    expect(lines().filter(({ attempts }) => Number(attempts) > 2)).toEqual([]);
  });

  it('one date out of line, which may be that of some box in between', async () => {
    ahead = 0;
    let count = 0;
    await start({
      tellsTime: false,
      respond: (_, answer) => {
        const lie = ++count === 4 ? 3 * 60 * MINUTE : 0;
        return answer.json(200, {}, [['Date', new Date(ours() + lie).toUTCString()]]);
      },
    });
    for (let i = 0; i < 8; i++) {
      passed += 2 * SECOND;
      expect(await send()).toBe(200);
    }
    expect(verdicts()).toEqual(Array(8).fill('verified'));
    expect(alarms()).toEqual([]);
  });
});

function dated() {
  return [['Date', new Date(theirs()).toUTCString()]] as const;
}
