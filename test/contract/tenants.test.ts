import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { FrontEnd, HOST } from '../kit/front-end.ts';
import { DOORS, KEYPAIR, startGateway, type TestGateway } from '../kit/gateway.ts';
import type { StrictUpstream } from '../kit/strict-upstream.ts';

/* Several tenants behind one listener: the Host alone tells them apart, and nothing of one works for another. */

const OTHER_HOST = 'console.umbrella.test';
const OTHER_KEYPAIR = { accessKey: 'AKIAUMBRELLA', secretKey: 'umbrella-secret' };

describe.each(DOORS)('two tenants, through the door %s', (door) => {
  let upstream: StrictUpstream;
  let gateway: TestGateway;
  let acme: FrontEnd;
  let umbrella: FrontEnd;

  beforeAll(async () => {
    const others = { umbrella: { origin: `http://${OTHER_HOST}`, keypair: OTHER_KEYPAIR } };
    ({ upstream, gateway } = await startGateway({ door, others }));
    acme = await FrontEnd.signIn(gateway.port);
    umbrella = await FrontEnd.signIn(gateway.port, OTHER_HOST);
  });

  afterAll(async () => {
    await gateway.close();
    await upstream.close();
  });

  beforeEach(() => {
    upstream.requests.length = 0;
  });

  it('are signed for with their own keypairs, also on one connection', async () => {
    const client = await acme.connect();
    for (const page of [acme, umbrella, umbrella, acme]) {
      expect((await page.fetch('POST', '/v2/x', { body: '{}' }, client)).status).toBe(200);
    }
    client.destroy();
    const [own, other] = [KEYPAIR.accessKey, OTHER_KEYPAIR.accessKey];
    expect(upstream.requests.map(({ verdict }) => verdict.accessKey)).toEqual([own, other, other, own]);
  });

  it('do not know each other’s sessions', async () => {
    const stray = new FrontEnd(gateway.port, acme.cookie, OTHER_HOST);
    const response = await stray.fetch('GET', '/v2/x');
    expect(response.status).toBe(401);
    expect((await stray.fetch('GET', '/-/session')).json()).toMatchObject({ authenticated: false, tenant: 'umbrella' });
    expect(upstream.requests).toEqual([]);
  });

  it('cannot sign each other’s sessions out', async () => {
    await new FrontEnd(gateway.port, acme.cookie, OTHER_HOST).fetch('DELETE', '/-/session');
    expect((await acme.fetch('GET', '/v2/x')).status).toBe(200);
  });

  it('are foreign to each other’s pages', async () => {
    const headers = [['Origin', `http://${OTHER_HOST}`]] as const;
    const response = await acme.fetch('POST', '/v2/x', { body: '{}', headers });
    expect(response.status).toBe(403);
    expect((await acme.fetch('GET', '/v2/x', { headers })).header('access-control-allow-origin')).toBeUndefined();
  });

  it.each([HOST.toUpperCase(), `${HOST}:80`])('answer to the Host %s as well', async (host) => {
    expect((await new FrontEnd(gateway.port, acme.cookie, host).fetch('GET', '/v2/x')).status).toBe(200);
  });

  it.each(['127.0.0.1', 'localhost', 'test', `x.${HOST}`, `${HOST}:81`, `${HOST}:443`])(
    'do not answer to the Host %s',
    async (host) => {
      const response = await new FrontEnd(gateway.port, acme.cookie, host).fetch('GET', '/v2/x');
      expect(response.status).toBe(421);
      expect(response.json()).toMatchObject({ type: expect.stringMatching(/\/unknown-tenant$/) });
      expect(upstream.requests).toEqual([]);
    },
  );
});
