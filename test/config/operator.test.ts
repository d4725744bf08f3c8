import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { ROOT } from '../kit/cli.ts';
import { faultsOf, load, MINIMAL } from './fixture.ts';

const ENV = { VISITOR_SECRET: 'secret', OPERATOR_TOKEN: 'token' };
const pem = (name: string) => readFileSync(join(ROOT, 'test/kit/tls', name), 'utf8');
const FILES = { 'cert.pem': pem('loopback.pem'), 'key.pem': pem('loopback.key'), 'other.key': pem('elsewhere.key') };

describe('the operators’ listener', () => {
  it('is not there unless it is asked for', () => {
    expect(load(MINIMAL, ENV).operator).toBeUndefined();
  });

  it.each(['127.0.0.1', 'localhost', '"::1"', '127.8.8.8'])('needs no token on %s', (host) => {
    const { operator, warnings } = load(`${MINIMAL}\noperator: { host: ${host} }\n`, ENV);
    expect(operator).toMatchObject({ port: 9090, token: undefined });
    expect(warnings).toEqual([]);
  });

  it.each(['0.0.0.0', '"::"', '10.1.2.3', 'operator.example', '"::ffff:10.0.0.1"', 'localhost.example'])(
    'is refused on %s without a token or client certificates',
    (host) => {
      const faults = faultsOf(`${MINIMAL}\noperator: { host: ${host} }\n`, ENV);
      expect(faults).toMatchObject([{ path: 'operator.host', message: expect.stringContaining('has no token') }]);
    },
  );

  it('takes a token there, with a warning where nothing encrypts it', () => {
    const { operator, warnings } = load(
      `${MINIMAL}\noperator: { host: 0.0.0.0, token: { env: OPERATOR_TOKEN } }\n`,
      ENV,
    );
    expect(operator?.token?.reveal()).toBe('token');
    expect(warnings).toMatchObject([{ path: 'operator.host', message: expect.stringContaining('in the clear') }]);
  });

  it('takes TLS, and client certificates in place of a token', () => {
    const tls = 'tls: { cert: cert.pem, key: { file: key.pem }, clientCa: cert.pem }';
    const { operator, warnings } = load(`${MINIMAL}\noperator: { host: 0.0.0.0, ${tls} }\n`, ENV, FILES);
    expect(operator?.tls).toMatchObject({ cert: FILES['cert.pem'], clientCa: FILES['cert.pem'] });
    expect(warnings).toMatchObject([{ message: expect.not.stringContaining('in the clear') }]);
    expect(JSON.stringify(operator)).not.toContain('PRIVATE KEY');
  });

  it.each([
    ['cert: gone.pem, key: { file: key.pem }', 'operator.tls.cert', /gone\.pem cannot be read \(ENOENT\)/],
    ['cert: cert.pem, key: { file: gone.key }', 'operator.tls.key', /gone\.key cannot be read \(ENOENT\)/],
    ['cert: cert.pem, key: { file: other.key }', 'operator.tls', /belong together/],
    ['cert: key.pem, key: { file: key.pem }', 'operator.tls', /belong together/],
  ])('finds fault with tls: { %s }', (tls, path, message) => {
    const faults = faultsOf(`${MINIMAL}\noperator: { tls: { ${tls} } }\n`, ENV, FILES);
    expect(faults).toMatchObject([{ path, message: expect.stringMatching(message) }]);
  });
});
