import { once } from 'node:events';
import { createServer, request as forward } from 'node:http';
import type { AddressInfo } from 'node:net';
import { describe, expect, it, onTestFinished } from 'vitest';
import { Secret } from '../../src/secret.ts';
import { startService } from '../../src/service/server.ts';
import { cli } from '../kit/cli.ts';
import { startStrictUpstream } from '../kit/strict-upstream.ts';
import { BACKEND_AI, SERVICE } from '../kit/verify-signature.ts';
import { ADMIN, configFile, doctor, startUpstream, VISITOR } from './upstream.ts';

async function service(clock: () => number = Date.now, host = '127.0.0.1') {
  const keypairs = [VISITOR, ADMIN].map(({ accessKey, secretKey }) => ({
    accessKey,
    secretKey: new Secret(secretKey),
    isAdmin: accessKey === ADMIN.accessKey,
  }));
  const running = await startService({ host, port: 0, keypairs, clock });
  onTestFinished(() => running.close());
  return running;
}

const BOTH = { visitor: VISITOR, admin: ADMIN };
const MINUTE = 60_000;

describe('a Service where all is well', () => {
  it('has no finding: version, quota and exit 0', async () => {
    const { origin } = await service();
    const result = await doctor(configFile({ endpoints: [origin] }, BOTH));
    expect([result.code, result.ok, result.findings]).toEqual([0, true, []]);
    expect(result.keypairs).toMatchObject([
      { role: 'visitor', version: 'v4.20190315', quota: { limit: 30_000, remaining: 29_999, reset: 900 } },
      { role: 'admin', version: 'v4.20190315', quota: { limit: 30_000, remaining: 29_999, reset: 900 } },
    ]);
    expect(result.steps.map(({ name, status }) => [name, status])).toEqual([
      ['connection', 'ok'],
      ['clock', 'ok'],
      ['body hash', 'ok'],
      ['content type', 'ok'],
    ]);
  });

  it.each([
    ['service', SERVICE],
    ['backend.ai', BACKEND_AI],
  ])('of the dialect %s, by an independent verifier', async (dialect, brand) => {
    const { origin } = await startUpstream({ brand });
    expect((await doctor(configFile({ endpoints: [origin], dialect }))).findings).toEqual([]);
  });
});

describe('a clock that is off', () => {
  it.each([
    [20, 'ahead of'],
    [-20, 'behind'],
  ])('by %i minutes: by how much, and that nothing else is wrong', async (minutes, direction) => {
    const { origin } = await service(() => Date.now() + minutes * MINUTE);
    const { code, findings, skewMs = 0 } = await doctor(configFile({ endpoints: [origin] }, BOTH));
    expect(code).toBe(1);
    expect(Math.abs(skewMs - minutes * MINUTE)).toBeLessThan(2000);
    expect(findings.map(({ name, role, code }) => [name, role, code])).toEqual([
      ['clock', undefined, 'clock-skew'],
      ['signature', 'visitor', 'clock-skew'],
      ['signature', 'admin', 'clock-skew'],
    ]);
    expect(findings[0]?.says).toMatch(
      new RegExp(
        `clock is (?:20 min(?: [01] s)?|19 min 59 s) ${direction} this machine’s.*cannot be told from two clocks`,
      ),
    );
  });

  it('is the upstream’s when a clock that was named agrees with this machine', async () => {
    const [{ origin }, witness] = await Promise.all([service(() => Date.now() + 20 * MINUTE), startUpstream()]);
    const { findings } = await doctor(configFile({ endpoints: [origin] }), '--clock', witness.origin);
    expect(findings[0]?.says).toContain(`It is the upstream’s that is wrong: 127.0.0.1:${witness.port} agrees`);
    expect(findings[0]?.hint).toContain('Set the upstream’s clock');
  });

  it('is this machine’s when that clock agrees with the upstream', async () => {
    const clock = () => Date.now() + 20 * MINUTE;
    const [{ origin }, witness] = await Promise.all([service(clock), startUpstream({ clock })]);
    const { findings } = await doctor(configFile({ endpoints: [origin] }), '--clock', witness.origin);
    expect(findings[0]?.says).toContain('It is this machine’s that is wrong');
    expect(findings[0]?.hint).toContain('Set the clock of this machine');
  });

  it('the other endpoints are witnesses as well', async () => {
    const [off, good] = await Promise.all([service(() => Date.now() - 20 * MINUTE), service()]);
    const other = `http://localhost:${good.port}`;
    const { findings } = await doctor(configFile({ endpoints: [off.origin, other] }));
    expect(findings.every(({ endpoint }) => endpoint === off.origin)).toBe(true);
    expect(findings[0]?.says).toContain('It is the upstream’s that is wrong: localhost agrees');
  });

  it('that cannot be read, for want of a Date header, is said to be among what is left', async () => {
    const upstream = await startStrictUpstream({
      keypairs: { [VISITOR.accessKey]: VISITOR.secretKey },
      clock: () => Date.now() + 20 * MINUTE,
    });
    onTestFinished(() => upstream.close());
    const { findings, steps } = await doctor(configFile({ endpoints: [upstream.origin] }));
    expect(steps).toContainEqual({ name: 'clock', status: 'skipped', says: expect.stringContaining('no Date header') });
    expect(findings[0]?.says).toContain('a clock that could not be read');
    expect(upstream.violations).toEqual([]);
  });

  it('a minute off is a warning and no failure', async () => {
    const { origin } = await service(() => Date.now() + MINUTE);
    const { code, findings } = await doctor(configFile({ endpoints: [origin] }));
    expect([code, findings.map(({ code, status }) => [code, status])]).toEqual([0, [['clock-skew', 'warning']]]);
  });
});

describe('another host', () => {
  it.each([
    ['the name without its port', (_: number) => '127.0.0.1', 'Set upstream.signedHost: 127.0.0.1.'],
    ['its own view of itself', (port: number) => `localhost:${port}`, /^Set upstream\.signedHost: localhost:\d+\.$/],
  ])('%s is named', async (_, host, hint) => {
    const { origin, port } = await startUpstream({ host });
    const { code, findings } = await doctor(configFile({ endpoints: [origin] }));
    expect(code).toBe(1);
    expect(findings.map((finding) => finding.code)).toEqual(['wrong-host']);
    expect(findings[0]?.says).toContain(`expects signatures over the host ${host(port)} (`);
    expect(findings[0]?.says).toContain(`not 127.0.0.1:${port}`);
    expect(findings[0]?.hint).toMatch(hint);
  });

  it('a signedHost that should not be there is named', async () => {
    const { origin } = await startUpstream({ host: (port) => `127.0.0.1:${port}` });
    const { findings } = await doctor(configFile({ endpoints: [origin], signedHost: 'api.acme.example' }));
    expect(findings.map(({ code, hint }) => [code, hint])).toEqual([['wrong-host', 'Take upstream.signedHost out.']]);
  });

  it('that is signed but not routed by is told apart: no configuration of the gateway helps', async () => {
    const { origin, port } = await startUpstream({
      host: () => 'localhost',
      respond(request, response) {
        const isOwn = request.headers.host === `127.0.0.1:${port}`;
        response.writeHead(isOwn ? 200 : 404).end('{"version":"v4.20190315"}');
      },
    });
    const [finding] = (await doctor(configFile({ endpoints: [origin] }))).findings;
    expect(finding?.code).toBe('wrong-host');
    expect(finding?.says).toContain(`As Host it takes 127.0.0.1:${port} only`);
    expect(finding?.hint).toContain('route and verify by one and the same name');
  });

  it('and a clock that is off: both are named', async () => {
    const { origin } = await startUpstream({ host: () => '127.0.0.1', clock: () => Date.now() + 20 * MINUTE });
    const signature = (await doctor(configFile({ endpoints: [origin] }))).findings.find(
      ({ role }) => role === 'visitor',
    );
    expect(signature?.code).toBe('wrong-host');
    expect(signature?.says).toMatch(/Two things at once.*in the upstream’s time.*over the host 127\.0\.0\.1 /);
  });

  it('and a clock that is off by what is allowed: the host alone is named', async () => {
    const { origin } = await startUpstream({ host: () => '127.0.0.1', clock: () => Date.now() + 2 * MINUTE });
    const { findings } = await doctor(configFile({ endpoints: [origin] }));
    expect(findings.map(({ code, status }) => [code, status])).toEqual([
      ['clock-skew', 'warning'],
      ['wrong-host', 'failed'],
    ]);
    expect(findings[1]?.says).not.toContain('Two things');
  });
});

describe('a wrong secret', () => {
  const WRONG = { accessKey: VISITOR.accessKey, secretKey: 'not-the-secret-of-the-visitor' };

  it('is what is left when nothing is accepted; it does not pretend to know that the access key is known', async () => {
    const { origin } = await service();
    for (const pair of [WRONG, { ...WRONG, accessKey: 'AKIAUNKNOWN' }]) {
      const { code, findings } = await doctor(configFile({ endpoints: [origin] }, { visitor: pair }));
      expect([code, findings.map((finding) => finding.code)]).toEqual([1, ['wrong-secret']]);
      expect(findings[0]?.says).toMatch(/Most likely the secret key of visitor is wrong, or its access key unknown/);
      expect(findings[0]?.hint).toContain('keypairs.visitor');
    }
  });

  it('is certain when another keypair is accepted at the same place', async () => {
    const { origin } = await service();
    const { findings } = await doctor(configFile({ endpoints: [origin] }, { visitor: WRONG, admin: ADMIN }));
    expect(findings.map(({ code, role }) => [code, role])).toEqual([['wrong-secret', 'visitor']]);
    expect(findings[0]?.says).toContain('admin is accepted on the same endpoint in a way in which visitor is not');
  });

  it('is certain even where the clock is off as well', async () => {
    const { origin } = await service(() => Date.now() + 20 * MINUTE);
    const { findings } = await doctor(configFile({ endpoints: [origin] }, { visitor: WRONG, admin: ADMIN }));
    expect(findings.map(({ name, role, code }) => [name, role, code])).toEqual([
      ['clock', undefined, 'clock-skew'],
      ['signature', 'visitor', 'wrong-secret'],
      ['signature', 'admin', 'clock-skew'],
    ]);
    expect(findings[1]?.says).toContain('admin is accepted on the same endpoint in a way in which visitor is not');
  });

  it.each([
    ['white space around it', { visitor: { ...VISITOR, secretKey: ` ${VISITOR.secretKey}\n` } }, 'white space'],
    ['quotation marks around it', { visitor: { ...VISITOR, secretKey: `"${VISITOR.secretKey}"` } }, 'quotation marks'],
    ['the one of another role', { visitor: { ...VISITOR, secretKey: ADMIN.secretKey }, admin: ADMIN }, undefined],
    [
      'the two mixed up',
      { visitor: { ...VISITOR, secretKey: ADMIN.secretKey }, admin: { ...ADMIN, secretKey: VISITOR.secretKey } },
      'mixed up',
    ],
  ])('%s', async (_, keypairs, says) => {
    const { origin } = await service();
    const { findings } = await doctor(configFile({ endpoints: [origin] }, keypairs));
    expect(findings[0]).toMatchObject({ code: 'wrong-secret', role: 'visitor' });
    if (says !== undefined) expect(findings[0]?.says).toContain(says);
  });

  it('no output of any kind has a secret, a signing key or a signature, even where the upstream repeats them', async () => {
    const { origin, requests } = await startUpstream({ keypairs: {} });
    const file = configFile({ endpoints: [origin] }, BOTH);
    const outputs = [await cli(['doctor', file]), await cli(['doctor', file, '--json'])];
    const signatures = requests.flatMap(({ authorization }) => /:([0-9a-f]{64})$/.exec(authorization)?.[1] ?? []);
    expect(signatures.length).toBeGreaterThan(20);
    for (const { stdout, stderr } of outputs) {
      for (const secret of [VISITOR.secretKey, ADMIN.secretKey, ...signatures]) {
        expect(stdout.includes(secret) || stderr.includes(secret)).toBe(false);
      }
      // The one string of 64 hex digits is the hash of no bytes.
      expect(new Set(stdout.match(/[0-9a-f]{64}/g))).toEqual(
        new Set(['e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855']),
      );
      expect(stdout).not.toContain('\u001b');
    }
  });

  it('comes with the string to sign, line by line, and where each value is from', async () => {
    const { origin, port } = await startUpstream({ keypairs: {} });
    const { keypairs } = await doctor(configFile({ endpoints: [origin] }));
    const lines = keypairs[0]?.stringToSign ?? [];
    expect(lines.map(({ value }) => value)).toEqual([
      'GET',
      '/v2',
      expect.stringMatching(/^\d{8}T\d{6}Z$/),
      `host:127.0.0.1:${port}`,
      'content-type:application/json',
      'x-service-version:v4.20190315',
      'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855',
      expect.stringMatching(/^\d{8}$/),
      `127.0.0.1:${port}`,
      '(not shown)',
      'Service',
      'AKIAVISITOR',
    ]);
    expect(lines.find(({ name }) => name === 'version')?.from).toBe('upstream.version');
  });
});

describe('a ring of keypairs', () => {
  const NEXT = { accessKey: 'AKIANEXT', secretKey: 'next-secret', state: 'next', notBefore: '2099-01-01T00:00:00Z' };
  const OLD = { accessKey: 'AKIAOLD', secretKey: 'old-secret', state: 'retired' };

  it('one that does not sign now and is refused is a warning, a retired one not even that', async () => {
    const { origin } = await service();
    const { code, findings, keypairs } = await doctor(
      configFile({ endpoints: [origin] }, { visitor: [VISITOR, NEXT, OLD] }),
    );
    expect([code, findings.map(({ code, status, role }) => [code, status, role])]).toEqual([
      0,
      [['wrong-secret', 'warning', 'visitor']],
    ]);
    expect(findings[0]?.says).toMatch(
      /^It does not sign now\..*secret key of visitor \(AKIANEXT\).*visitor \(AKIAVISITOR\) is accepted/,
    );
    expect(findings[0]?.hint).toContain('keypairs.visitor[1]');
    expect(keypairs.map(({ accessKey, state, current }) => [accessKey, state, current])).toEqual([
      ['AKIAVISITOR', 'active', true],
      ['AKIANEXT', 'next', false],
      ['AKIAOLD', 'retired', false],
    ]);
  });

  it('the one that signs is a failure', async () => {
    const { origin } = await service();
    const wrong = { ...VISITOR, secretKey: 'wrong' };
    const { code, findings } = await doctor(configFile({ endpoints: [origin] }, { visitor: [wrong, OLD] }));
    expect([code, findings.map(({ code, status }) => [code, status])]).toEqual([1, [['wrong-secret', 'failed']]]);
  });
});

describe('another way of signing bodies', () => {
  const { headerPrefix, scheme } = SERVICE;

  it.each([
    ['hashes no body', 'empty', 'body', 'Set bodyHash: empty in upstream.dialect.'],
    ['hashes the body', 'body', 'empty', 'Set bodyHash: body in upstream.dialect.'],
  ] as const)('one that %s, where the configuration says otherwise', async (_, theirs, ours, hint) => {
    const { origin } = await startUpstream({ brand: { ...SERVICE, bodyHash: theirs } });
    const dialect = { preset: 'service', bodyHash: ours, headerPrefix, scheme };
    const { code, findings } = await doctor(configFile({ endpoints: [origin], dialect }));
    expect([code, findings.map((finding) => [finding.code, finding.hint])]).toEqual([1, [['wrong-body-hash', hint]]]);
  });

  it.each([
    ['mime', 'full', 'Set contentType: mime in upstream.dialect.'],
    ['full', 'mime', 'Set contentType: full in upstream.dialect.'],
  ] as const)('one that signs the content type %s, where the configuration says %s', async (theirs, ours, hint) => {
    const { origin } = await startUpstream({ brand: { ...SERVICE, contentType: theirs } });
    const dialect = { preset: 'service', contentType: ours };
    const { code, findings } = await doctor(configFile({ endpoints: [origin], dialect }));
    expect([code, findings.map((finding) => [finding.code, finding.hint])]).toEqual([
      1,
      [['wrong-content-type', hint]],
    ]);
  });

  it('it does not guess where something in between answers every REPORT', async () => {
    const { port } = await service();
    const guard = createServer((request, response) => {
      if (request.method === 'REPORT') return response.writeHead(400).end();
      const { method, url, headers } = request;
      const onward = forward({ host: '127.0.0.1', port, method, path: url, headers }, (answer) => {
        response.writeHead(answer.statusCode ?? 0, answer.headers);
        answer.pipe(response);
      });
      return request.pipe(onward);
    });
    guard.listen(0, '127.0.0.1');
    await once(guard, 'listening');
    onTestFinished(() => void guard.close());
    const result = await doctor(
      configFile({ endpoints: [`http://127.0.0.1:${(guard.address() as AddressInfo).port}`] }),
    );
    expect(result.findings).toEqual([]);
    expect(result.steps.find(({ name }) => name === 'body hash')).toMatchObject({
      status: 'skipped',
      says: expect.stringContaining('REPORT 400, 400, 400'),
    });
  });
});

describe('another dialect', () => {
  it.each([
    ['service', 'backend.ai', BACKEND_AI],
    ['backend.ai', 'service', SERVICE],
  ])('%s configured, %s spoken', async (dialect, spoken, brand) => {
    const { origin } = await startUpstream({ brand });
    const { findings } = await doctor(configFile({ endpoints: [origin], dialect }));
    expect(findings.map(({ code, hint }) => [code, hint])).toEqual([
      ['wrong-dialect', `Set upstream.dialect: ${spoken}.`],
    ]);
  });
});

describe('other answers', () => {
  const answers = (status: number, body: object, headers = {}) => ({
    respond: (_: unknown, response: import('node:http').ServerResponse) =>
      void response.writeHead(status, headers).end(JSON.stringify(body)),
  });

  it.each([
    [429, {}, { 'Retry-After': '30' }, 'quota-used-up', /again in 30 s/],
    [500, {}, {}, 'upstream-failed', /answered with 500/],
    [404, {}, {}, 'not-the-service', /answered with 404/],
    [301, {}, { Location: 'https://elsewhere.example/' }, 'not-the-service', /301, to https:\/\/elsewhere\.example\//],
    [200, { hello: 'world' }, {}, 'not-the-service', /no JSON object with a version/],
    [400, { type: 'https://p.example/unsupported-version' }, {}, 'version-unsupported', /400/],
    [403, {}, {}, 'forbidden', /may lack the right/],
  ] as const)('%i %j', async (status, body, headers, code, says) => {
    const { origin } = await startUpstream(answers(status, body, headers));
    const result = await doctor(configFile({ endpoints: [origin] }));
    expect([result.code, result.findings.map((finding) => finding.code)]).toEqual([1, [code]]);
    expect(result.findings[0]?.says).toMatch(says);
  });

  it('an older Service than the version that is sent: a warning', async () => {
    const { origin } = await startUpstream(answers(200, { version: 'v4.20181215' }));
    const { code, findings } = await doctor(configFile({ endpoints: [origin] }));
    expect([code, findings.map((finding) => finding.code)]).toEqual([0, ['version-newer']]);
  });

  it('an upstream that asks for no signature: a warning that this proves little', async () => {
    const { origin } = await startUpstream({
      refuse: (_, response) => void response.writeHead(200).end('{"version":"v4.20190315"}'),
    });
    const { findings } = await doctor(configFile({ endpoints: [origin] }));
    expect(findings.map(({ code }) => code)).toEqual(['signature-not-required']);
  });

  it('one that limits the rate of what it refuses: doctor stops, and says that it does not know', async () => {
    let count = 0;
    const { origin, requests } = await startUpstream({
      keypairs: {},
      refuse: (_, response) => void response.writeHead(++count > 4 ? 429 : 401).end('{}'),
    });
    const { findings } = await doctor(configFile({ endpoints: [origin] }));
    expect(findings.map(({ code }) => code)).toEqual(['quota-used-up']);
    expect(findings[0]?.says).toMatch(/^GET \/v2 is refused \(401\)\. Why could not be found out/);
    expect(requests).toHaveLength(5);
  });

  it('one that refuses once and accepts later is called unsteady', async () => {
    let count = 0;
    const { origin } = await startUpstream({
      respond(_, response) {
        count++;
        if (count === 1) response.writeHead(401).end('{}');
        else response.writeHead(200).end('{"version":"v4.20190315"}');
      },
    });
    const { findings } = await doctor(configFile({ endpoints: [origin] }));
    expect(findings.map(({ code }) => code)).toEqual(['unsteady']);
  });
});
