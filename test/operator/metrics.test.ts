import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { FrontEnd } from '../kit/front-end.ts';
import { KEYPAIR, startGateway, type TestGateway } from '../kit/gateway.ts';
import { startOperator, type TestOperator } from '../kit/operator.ts';
import type { StrictUpstream } from '../kit/strict-upstream.ts';

let upstream: StrictUpstream;
let gateway: TestGateway;
let operator: TestOperator;
beforeEach(async () => {
  ({ upstream, gateway } = await startGateway({
    respond: (request, answer) => {
      if (request.target === '/v2/broken')
        return answer.raw('HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf').then(() => answer.reset());
      if (request.target === '/v2/failing') return answer.json(500, { title: 'sorry' });
    },
  }));
  operator = await startOperator(gateway.watched);
});
afterEach(async () => {
  await operator.close();
  await gateway.close();
  await upstream.close();
});

async function scrape(): Promise<string> {
  const answer = await fetch(`${operator.origin}/metrics`);
  expect(answer.headers.get('content-type')).toBe('text/plain; version=0.0.4; charset=utf-8');
  return answer.text();
}

/** The value of a sample, written as Prometheus writes it. */
function sampleOf(text: string, sample: string): number | undefined {
  const line = text.split('\n').find((one) => one.startsWith(`${sample} `));
  return line === undefined ? undefined : Number(line.slice(sample.length + 1));
}

const requests = (route: string, method: string, status: string, tenant = 'acme') =>
  `countersign_http_requests_total{tenant="${tenant}",route="${route}",method="${method}",status="${status}"}`;

describe('/metrics', () => {
  it('counts each request once, by tenant, route, method and status class', async () => {
    const page = await FrontEnd.signIn(gateway.port);
    for (let i = 0; i < 3; i++) await page.fetch('GET', `/v2/some/path/${i}?secret=${i}`);
    await page.fetch('POST', '/v2', { body: '{}' });
    await page.fetch('GET', '/v2/failing');
    await page.fetch('GET', '/v2/broken');
    await page.fetch('GET', '/nowhere');
    await new FrontEnd(gateway.port, '').fetch('GET', '/v2');
    await new FrontEnd(gateway.port, '', 'unknown.test').fetch('GET', '/v2');

    const text = await scrape();
    expect(sampleOf(text, requests('/-/', 'POST', '2xx'))).toBe(1);
    expect(sampleOf(text, requests('/v2', 'GET', '2xx'))).toBe(3);
    expect(sampleOf(text, requests('/v2', 'POST', '2xx'))).toBe(1);
    expect(sampleOf(text, requests('/v2', 'GET', '5xx'))).toBe(1);
    expect(sampleOf(text, requests('/v2', 'GET', 'aborted'))).toBe(1);
    expect(sampleOf(text, requests('/v2', 'GET', '4xx'))).toBe(1);
    expect(sampleOf(text, requests('other', 'GET', '4xx'))).toBe(1);
    expect(sampleOf(text, requests('other', 'GET', '4xx', ''))).toBe(1);
    const duration = requests('/v2', 'GET', '2xx').replace('requests_total', 'request_duration_seconds_count');
    expect(sampleOf(text, duration)).toBe(3);
    expect(sampleOf(text, 'countersign_refusals_total{tenant="acme",code="unauthorized"}')).toBe(1);
    expect(sampleOf(text, 'countersign_refusals_total{tenant="acme",code="no-route"}')).toBe(1);
    expect(sampleOf(text, 'countersign_refusals_total{tenant="",code="unknown-tenant"}')).toBe(1);
    expect(
      sampleOf(text, `countersign_upstream_attempts_total{endpoint="${upstream.origin}",outcome="answered"}`),
    ).toBe(5);
    expect(sampleOf(text, `countersign_upstream_attempts_total{endpoint="${upstream.origin}",outcome="failed"}`)).toBe(
      1,
    );
    expect(sampleOf(text, `countersign_upstream_response_seconds_count{endpoint="${upstream.origin}"}`)).toBe(6);
  });

  // Whoever can choose a label's value can fill the memory of gateway and Prometheus both.
  it('grows by nothing a client can choose', async () => {
    const page = await FrontEnd.signIn(gateway.port);
    const client = await page.connect();
    const series = async () => (await scrape()).split('\n').filter((line) => line.startsWith('countersign_')).length;
    const ask = async (i: number) => {
      await page.fetch('GET', `/v2/${i}?${i}`, {}, client);
      await page.fetch('GET', `/path-${i}`, {}, client);
      await page.fetch(`BREW${i}`, '/v2', {});
      await new FrontEnd(gateway.port, '', `host-${i}.test`).fetch('GET', `/-/${i}`);
    };
    await ask(0);
    const before = await series();
    for (let i = 1; i <= 20; i++) await ask(i);
    expect(await series()).toBe(before);
    client.destroy();
  });

  it('gauges what request bodies take up while they are held', async () => {
    const page = await FrontEnd.signIn(gateway.port);
    const bytes = (place: string) => `countersign_bodies_bytes{place="${place}"}`;
    const client = await page.connect();
    client.send(page.bytes('POST', '/v2', { headers: [['Content-Length', '5000']], body: '{' }));
    await expect.poll(async () => sampleOf(await scrape(), bytes('memory'))).toBe(5000);
    client.destroy();
    await expect.poll(async () => sampleOf(await scrape(), bytes('memory'))).toBe(0);
    const text = await scrape();
    expect(sampleOf(text, bytes('disk'))).toBe(0);
    expect(sampleOf(text, 'countersign_bodies_limit_bytes{place="memory"}')).toBe(128 * 1024 ** 2);
    expect(sampleOf(text, 'countersign_bodies_limit_bytes{place="disk"}')).toBe(4 * 1024 ** 3);
  });

  it('gauges quota, sessions, the store, the event loop and the build', async () => {
    const page = await FrontEnd.signIn(gateway.port);
    await page.fetch('GET', '/v2');
    await page.fetch('DELETE', '/-/session');
    const text = await scrape();
    expect(sampleOf(text, 'countersign_keypair_quota_limit{tenant="acme",role="visitor"}')).toBe(30000);
    expect(sampleOf(text, 'countersign_keypair_quota_remaining{tenant="acme",role="visitor"}')).toBe(29999);
    expect(sampleOf(text, 'countersign_sessions_created_total')).toBe(1);
    expect(sampleOf(text, 'countersign_sessions_ended_total')).toBe(1);
    expect(sampleOf(text, 'countersign_session_store_up')).toBe(1);
    expect(sampleOf(text, 'countersign_live_streams')).toBe(0);
    expect(sampleOf(text, 'countersign_draining')).toBe(0);
    expect(sampleOf(text, 'nodejs_eventloop_lag_p99_seconds')).toBeGreaterThan(0);
    expect(sampleOf(text, 'process_resident_memory_bytes')).toBeGreaterThan(1e6);
    expect(sampleOf(text, `countersign_build_info{version="0.0.0-test",node="${process.version}"}`)).toBe(1);
    expect(text).not.toContain(KEYPAIR.accessKey);
  });

  it('is what Prometheus can read: each family once, with help and type before its samples', async () => {
    const page = await FrontEnd.signIn(gateway.port);
    await page.fetch('GET', '/v2');
    const lines = (await scrape()).split('\n').filter((line) => line !== '');
    const families = new Map<string, string>();
    let current = '';
    for (const line of lines) {
      const type = /^# TYPE (\S+) (counter|gauge|histogram|summary)$/.exec(line);
      if (type?.[1] !== undefined) {
        current = type[1];
        expect(families.has(current)).toBe(false);
        families.set(current, type[2] ?? '');
      } else if (!line.startsWith('# HELP ')) {
        expect(line).toMatch(
          /^[a-z0-9_]+(?:\{(?:[a-z_]+="[^"\n]*",?)*\})? (?:-?\d+(?:\.\d+)?(?:e[+-]?\d+)?|[+-]Inf|NaN)$/i,
        );
        expect(line.startsWith(current)).toBe(true);
      }
    }
    expect(families.get('countersign_http_request_duration_seconds')).toBe('histogram');
  });
});
