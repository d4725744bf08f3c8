import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { createServer, type Server } from 'node:tls';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { CliProcess, ROOT } from '../kit/cli.ts';
import { type Demo, startDemo } from '../kit/demo.ts';
import { freePort } from '../kit/free-port.ts';

const TLS = join(ROOT, 'test/kit/tls');
const CA = { NODE_EXTRA_CA_CERTS: join(TLS, 'loopback.pem') };

let demo: Demo;
let terminator: Server;
let url: string;

/** The demo behind something that ends TLS, as gateways are deployed. */
beforeAll(async () => {
  const port = await freePort();
  url = `https://localhost:${port}`;
  demo = await startDemo((yaml) => yaml.replace('origins: [', `origins: [${url}, `));
  const [key, cert] = ['loopback.key', 'loopback.pem'].map((file) => readFileSync(join(TLS, file)));
  terminator = createServer({ key, cert }, (socket) => {
    const behind = connect(demo.port, '127.0.0.1');
    behind.on('error', () => socket.destroy()).pipe(socket);
    socket.on('error', () => behind.destroy()).pipe(behind);
  });
  terminator.on('tlsClientError', () => undefined);
  terminator.listen(port, '127.0.0.1');
  await once(terminator, 'listening');
});
afterAll(async () => {
  terminator.close();
  await demo.stop();
});

it('--url https://: everything visible holds, the __Host- cookie among it', async () => {
  const smoke = new CliProcess(['smoke', '--url', url, '--json'], CA);
  expect(await smoke.exited()).toBe(0);
  const { checks } = JSON.parse(smoke.stdout) as { checks: { id: string; status: string }[] };
  expect(checks.find(({ id }) => id === 'cookie.secure')).toMatchObject({ status: 'passed' });
  expect(checks.filter(({ status }) => status === 'failed')).toEqual([]);
});

it('--url https:// of a gateway that ends TLS itself, and would rather speak HTTP/2', async () => {
  const [cert, key] = ['loopback.pem', 'loopback.key'].map((file) => JSON.stringify(join(TLS, file)));
  const own = await startDemo((yaml) =>
    yaml
      .replace(/port: (\d+) \}/, `port: $1, tls: { certificates: [{ cert: ${cert}, key: { file: ${key} } }] } }`)
      .replaceAll(/http(:\/\/(?:localhost|127\.0\.0\.1):)(\d+)(?=[,\]])/g, (found, rest, port) =>
        yaml.includes(`listen: { host: 127.0.0.1, port: ${port} }`) ? `https${rest}${port}` : found,
      ),
  );
  try {
    const smoke = new CliProcess(['smoke', '--url', `https://localhost:${own.port}`, '--json'], CA);
    expect(await smoke.exited()).toBe(0);
    const { checks } = JSON.parse(smoke.stdout) as { checks: { id: string; status: string }[] };
    expect(checks.filter(({ status }) => status === 'failed')).toEqual([]);
    expect(checks.find(({ id }) => id === 'cookie.secure')).toMatchObject({ status: 'passed' });
  } finally {
    await own.stop();
  }
});

it('a certificate that nobody vouches for is no gateway', async () => {
  const smoke = new CliProcess(['smoke', '--url', url, '--json']);
  expect(await smoke.exited()).toBe(1);
  expect(smoke.stdout).toMatch(
    /"received": "no answer: no connection to localhost port \d+: DEPTH_ZERO_SELF_SIGNED_CERT"/,
  );
});
