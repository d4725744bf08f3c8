import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { type AddressInfo, createServer } from 'node:net';
import { fileURLToPath } from 'node:url';
import { describe, expect, it, onTestFinished } from 'vitest';
import { CliProcess } from '../kit/cli.ts';
import { freePort } from '../kit/free-port.ts';
import { configFile, doctor, startUpstream } from './upstream.ts';

const pathOf = (name: string) => fileURLToPath(new URL(`../kit/tls/${name}`, import.meta.url));
const certificateOf = (name: string) => ({
  key: readFileSync(pathOf(`${name}.key`)),
  cert: readFileSync(pathOf(`${name}.pem`)),
});

/** `doctor --json` in a process that trusts a certificate of the test kit. */
async function trusting(name: string, file: string) {
  const run = new CliProcess(['doctor', file, '--json'], { NODE_EXTRA_CA_CERTS: pathOf(`${name}.pem`) });
  const code = await run.exited();
  const report = JSON.parse(run.stdout);
  return { code, findings: report.findings, ...report.tenants[0].endpoints[0] };
}

describe('the way to an endpoint', () => {
  it('a refused connection', async () => {
    const { code, findings } = await doctor(configFile({ endpoints: [`http://127.0.0.1:${await freePort()}`] }));
    expect(code).toBe(1);
    expect(findings.map(({ code, says }) => [code, says])).toEqual([
      ['connection-failed', 'The connection was refused: nothing listens there.'],
    ]);
  });

  it('a name that DNS does not know, beside an endpoint that is well', async () => {
    const { origin } = await startUpstream();
    const { code, findings } = await doctor(configFile({ endpoints: ['http://no-such-name.invalid', origin] }));
    expect(code).toBe(1);
    expect(findings).toMatchObject([
      {
        code: 'name-unknown',
        endpoint: 'http://no-such-name.invalid',
        says: expect.stringMatching(/^no-such-name\.invalid: The name/),
      },
    ]);
  });

  it('a port that accepts and never says a word', async () => {
    const silent = createServer().listen(0, '127.0.0.1');
    await once(silent, 'listening');
    const { port } = silent.address() as AddressInfo;
    onTestFinished(() => void silent.close());
    silent.on('connection', (socket) => socket.resume().on('error', () => undefined));
    const timeouts = { connect: '100ms', headers: '100ms' };
    for (const [endpoint, expected] of [
      [`http://127.0.0.1:${port}`, 'no-answer'],
      [`https://127.0.0.1:${port}`, 'tls-failed'],
    ] as const) {
      const { findings } = await doctor(configFile({ endpoints: [endpoint], timeouts }));
      expect(findings.map(({ code, says }) => [code, says])).toEqual([[expected, 'No answer in time.']]);
    }
  });

  it('a port that speaks another protocol', async () => {
    const other = createServer((socket) => void socket.on('error', () => undefined).end('220 mail.example ESMTP\r\n'));
    other.listen(0, '127.0.0.1');
    await once(other, 'listening');
    onTestFinished(() => void other.close());
    const { findings } = await doctor(
      configFile({ endpoints: [`http://127.0.0.1:${(other.address() as AddressInfo).port}`] }),
    );
    expect(findings).toMatchObject([{ code: 'no-answer', says: expect.stringContaining('is no HTTP/1.1') }]);
  });
});

describe('TLS', () => {
  it('a certificate nobody trusts is described, and nothing signed is sent', async () => {
    const { origin, requests } = await startUpstream({ tls: certificateOf('loopback') });
    const { code, findings } = await doctor(configFile({ endpoints: [origin] }));
    expect(code).toBe(1);
    expect(findings).toMatchObject([
      { code: 'certificate-untrusted', hint: expect.stringContaining('NODE_EXTRA_CA_CERTS') },
    ]);
    expect(findings[0]?.says).toMatch(
      /signed by itself, and this machine does not trust it\. Seen: TLSv1\.[23], certificate of loopback for tests by loopback for tests, expires in \d+ days/,
    );
    expect(requests).toEqual([]);
  });

  it('a trusted one: protocol, subject, issuer and expiry', async () => {
    const { origin } = await startUpstream({ tls: certificateOf('loopback') });
    const { code, findings, steps } = await trusting('loopback', configFile({ endpoints: [origin] }));
    expect([code, findings]).toEqual([0, []]);
    expect(steps).toContainEqual({
      name: 'tls',
      status: 'ok',
      says: expect.stringMatching(
        /^TLSv1\.3, certificate of loopback for tests by loopback for tests, expires in \d+ days/,
      ),
    });
  });

  it('one for another name', async () => {
    const { origin } = await startUpstream({ tls: certificateOf('elsewhere') });
    const { code, findings } = await trusting('elsewhere', configFile({ endpoints: [origin] }));
    expect(code).toBe(1);
    expect(findings).toMatchObject([
      { code: 'certificate-untrusted', says: expect.stringMatching(/is for another name\. It is for \S+/) },
    ]);
  });

  it('a name of the certificate is tried as the host that is signed', async () => {
    const { origin } = await startUpstream({ tls: certificateOf('loopback'), host: () => 'localhost' });
    const { findings } = await trusting('loopback', configFile({ endpoints: [origin] }));
    expect(findings).toMatchObject([{ code: 'wrong-host', hint: 'Set upstream.signedHost: localhost.' }]);
  });

  it('https to a port of plain HTTP, and the reverse', async () => {
    const plain = await startUpstream();
    const [wrongly] = (await doctor(configFile({ endpoints: [`https://127.0.0.1:${plain.port}`] }))).findings;
    expect(wrongly).toMatchObject({ code: 'tls-failed', hint: expect.stringContaining('http://') });
    const tls = await startUpstream({ tls: certificateOf('loopback') });
    const [reverse] = (await doctor(configFile({ endpoints: [`http://127.0.0.1:${tls.port}`] }))).findings;
    expect(reverse).toMatchObject({ code: 'no-answer', hint: expect.stringMatching(/TLS/) });
  });
});
