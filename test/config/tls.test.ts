import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ConfigWatch } from '../../src/config/watch.ts';
import { Authority, type Issued } from '../kit/certificates.ts';
import { faultsOf, folderOf, load, MINIMAL } from './fixture.ts';

const ENV = { VISITOR_SECRET: 'secret' };

let authority: Authority;
let good: Issued;
let files: Record<string, string>;

beforeAll(() => {
  authority = new Authority();
  good = authority.issue(['DNS:console.acme.example']);
  const other = authority.issue(['DNS:*.other.example']);
  const expired = authority.issue(['DNS:console.acme.example'], -1, 30);
  files = {
    'good.pem': good.cert,
    'good.key': good.key,
    'other.pem': other.cert,
    'other.key': other.key,
    'expired.pem': expired.cert,
    'expired.key': expired.key,
    'nonsense.pem': 'nonsense',
  };
});
afterAll(() => authority.remove());

const pair = (name: string, key = name) => `{ cert: ${name}.pem, key: { file: ${key}.key } }`;
const listening = (tls: string) => `${MINIMAL}listen:\n  tls:\n    ${tls}\n`;
const calling = (tls: string) => MINIMAL.replace('version: v4', `tls: ${tls}\n      version: v4`);

describe('listen.tls', () => {
  it('takes certificates with their keys, which nothing shows', () => {
    const { snapshot, warnings } = load(listening(`certificates: [${pair('good')}, ${pair('other')}]`), ENV, files);
    expect(snapshot.listen.tls).toMatchObject({ clientCa: undefined, minVersion: 'TLSv1.2' });
    expect(snapshot.listen.tls?.certificates.map(({ cert }) => cert)).toEqual([files['good.pem'], files['other.pem']]);
    expect(JSON.stringify(snapshot)).not.toContain('PRIVATE KEY');
    expect(warnings).toEqual([]);
  });

  it.each<[string, string, RegExp, number]>([
    [pair('expired'), 'listen.tls.certificates[0].cert', /^the certificate expired on \d{4}-\d\d-\d\d$/, 16],
    [pair('good', 'other'), 'listen.tls.certificates[0]', /belong together/, 16],
    [pair('nonsense', 'good'), 'listen.tls.certificates[0]', /belong together/, 16],
    [pair('gone', 'good'), 'listen.tls.certificates[0].cert', /gone\.pem cannot be read \(ENOENT\)/, 16],
    [pair('good', 'gone'), 'listen.tls.certificates[0].key', /gone\.key cannot be read \(ENOENT\)/, 16],
  ])('finds fault with %s', (certificate, path, message, line) => {
    const faults = faultsOf(listening(`certificates: [${certificate}]`), ENV, files);
    expect(faults).toMatchObject([{ path, message: expect.stringMatching(message), line }]);
  });

  it.each<[string, string, RegExp]>([
    ['certificates: []', 'listen.tls.certificates', /./],
    ['{ certificates: [GOOD], clientCa: nonsense.pem }', 'listen.tls.clientCa', /holds no PEM certificates/],
    ['{ certificates: [GOOD], minVersion: TLSv1.1 }', 'listen.tls.minVersion', /./],
    ['{ certificates: [GOOD], ciphers: ALL }', 'listen.tls.ciphers', /unknown key/],
  ])('finds fault with %s', (tls, path, message) => {
    const faults = faultsOf(listening(tls.replace('GOOD', pair('good'))), ENV, files);
    expect(faults).toMatchObject([{ path, message: expect.stringMatching(message) }]);
  });

  it.each([
    [90, 13, 1],
    [90, 15, 0],
    [6, 5, 0],
  ])('of a certificate made for %i days with %i left gives %i warnings', (life, left, count) => {
    const issued = authority.issue(['DNS:console.acme.example'], left, life - left);
    const text = listening(`certificates: [${pair('soon')}]`);
    const { warnings } = load(text, ENV, { 'soon.pem': issued.cert, 'soon.key': issued.key });
    expect(warnings.map(({ path, message }) => [path, message])).toEqual(
      Array(count).fill(['listen.tls.certificates[0].cert', expect.stringMatching(/^the certificate expires on /)]),
    );
  });

  it('warns of an origin on https that no certificate is for', () => {
    const { warnings } = load(listening(`certificates: [${pair('other')}]`), ENV, files);
    expect(warnings).toMatchObject([
      { path: 'tenants.acme.origins[0]', message: expect.stringContaining('is for console.acme.example') },
    ]);
    const covered = listening(`certificates: [${pair('other')}]`).replace('console.acme', 'console.other');
    expect(load(covered, ENV, files).warnings).toEqual([]);
  });
});

it('a certificate that is not valid yet is a fault: a clock is wrong somewhere', () => {
  const early = authority.issue(['DNS:console.acme.example'], 90, -2);
  const files = { 'early.pem': early.cert, 'early.key': early.key };
  expect(faultsOf(listening(`certificates: [${pair('early')}]`), ENV, files)).toMatchObject([
    {
      path: 'listen.tls.certificates[0].cert',
      message: expect.stringMatching(/^the certificate is not valid before /),
    },
  ]);
});

describe('upstream.tls', () => {
  it('takes an authority, a name and a client certificate', () => {
    const tls = `{ ca: good.pem, serverName: api.internal, clientCertificate: ${pair('good')} }`;
    const upstream = load(calling(tls), ENV, files).snapshot.tenants[0]?.upstream;
    expect(upstream?.tls).toMatchObject({ ca: files['good.pem'], serverName: 'api.internal' });
    expect(JSON.stringify(upstream)).not.toContain('PRIVATE KEY');
  });

  it.each<[string, string, RegExp]>([
    ['{ ca: nonsense.pem }', 'ca', /holds no PEM certificates/],
    ['{ ca: gone.pem }', 'ca', /cannot be read \(ENOENT\)/],
    ['{ serverName: "api.internal:443" }', 'serverName', /./],
    ['{ serverName: 10.0.0.1 }', 'serverName', /./],
    ['{ clientCertificate: { cert: good.pem, key: { file: other.key } } }', 'clientCertificate', /belong together/],
    ['{ verify: false }', 'verify', /unknown key/],
  ])('finds fault with %s', (tls, key, message) => {
    expect(faultsOf(calling(tls), ENV, files)).toMatchObject([
      { path: `tenants.acme.upstream.tls.${key}`, message: expect.stringMatching(message) },
    ]);
  });

  it('is a fault where nothing speaks TLS', () => {
    const plain = calling('{ serverName: api.internal }').replace('https://api.service.example', 'http://127.0.0.1:1');
    expect(faultsOf(plain, ENV, files)).toMatchObject([{ path: 'tenants.acme.upstream.tls' }]);
  });
});

it('a renewed certificate of the operators’ listener is noticed, and needs a restart', async () => {
  const folder = folderOf({ ...files, 'countersign.yaml': `${MINIMAL}operator:\n  tls: ${pair('good')}\n` });
  const watch = new ConfigWatch(join(folder, 'countersign.yaml'), { env: ENV, debounce: 10 });
  const reloaded = new Promise<{ warnings: readonly { path: string }[] }>((resolve) => watch.onReload(resolve));
  const renewed = authority.issue(['DNS:console.acme.example']);
  writeFileSync(join(folder, 'good.key'), renewed.key);
  writeFileSync(join(folder, 'good.pem'), renewed.cert);
  expect((await reloaded).warnings.map(({ path }) => path)).toContain('operator');
  watch.close();
});

it('a request that may take less time than its head is a fault', () => {
  const faults = faultsOf(`${MINIMAL}listen: { headerTimeout: 10s, requestTimeout: 5s }\n`, ENV);
  expect(faults).toMatchObject([{ path: 'listen.requestTimeout' }]);
  expect(load(`${MINIMAL}listen: { requestTimeout: 0s }\n`, ENV).snapshot.listen.requestTimeout).toBe(0);
});
