import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { cli } from '../kit/cli.ts';

type Vector = {
  name: string;
  request: Record<string, string>;
  keypair: { secretKey: string };
  expected: { authorization: string; signingKey: string };
};
const vectors = JSON.parse(readFileSync(new URL('../vectors/signing.json', import.meta.url), 'utf8')) as [
  Vector,
  ...Vector[],
];
const [first] = vectors;

describe('countersign sign', () => {
  it('answers an array of vectors with the array of what the other implementation expects', async () => {
    const { code, stdout } = await cli(['sign'], JSON.stringify(vectors));
    expect(code).toBe(0);
    expect(JSON.parse(stdout)).toEqual(vectors.map(({ expected }) => expected));
  });

  it('answers one object with one object', async () => {
    const { stdout } = await cli(['sign'], JSON.stringify(first));
    expect(JSON.parse(stdout)).toEqual(first.expected);
  });

  it('--explain shows the seven lines, and neither the secret nor the signing key', async () => {
    const { code, stdout, stderr } = await cli(['sign', '--explain'], JSON.stringify(vectors));
    expect(code).toBe(0);
    expect(stdout).toContain('"host:api.service.example"');
    expect(stdout).toContain(first.expected.authorization);
    for (const { keypair, expected } of vectors) {
      expect(stdout + stderr).not.toContain(keypair.secretKey);
      expect(stdout + stderr).not.toContain(expected.signingKey);
    }
  });

  it.each([
    ['no JSON', 'hello', 'stdin is no valid JSON'],
    ['nothing', '', 'nothing on stdin'],
    ['a missing field', { ...first, request: { ...first.request, uri: undefined } }, 'request.uri: '],
    ['a relative URI', { ...first, request: { ...first.request, uri: 'v2' } }, 'request.uri: expected a path'],
    ['a wrong type', { ...first, keypair: { ...first.keypair, secretKey: 7 } }, 'keypair.secretKey: '],
    [
      'a date that is none',
      { ...first, request: { ...first.request, date: '2026-02-30T00:00:00Z' } },
      'request.date: expected',
    ],
    [
      'a body that is no base64',
      { ...first, request: { ...first.request, bodyBase64: '*' } },
      'request.bodyBase64: expected base64',
    ],
    ['the second of an array', [first, { ...first, keypair: null }], '[1].keypair: '],
  ])('%s: exit 2 with a message that names the field', async (_name, input, message) => {
    const { code, stdout, stderr } = await cli(['sign'], typeof input === 'string' ? input : JSON.stringify(input));
    expect(code).toBe(2);
    expect(stdout).toBe('');
    expect(stderr).toContain(message);
    expect(stderr).not.toContain(first.keypair.secretKey);
    expect(stderr).not.toMatch(/\bat .*\.ts/);
  });
});

describe('countersign verify', () => {
  const signed = vectors.map((vector) => ({ ...vector, authorization: vector.expected.authorization }));

  it('accepts every signature of the other implementation', async () => {
    const { code, stdout } = await cli(['verify'], JSON.stringify(signed));
    expect(code).toBe(0);
    expect(JSON.parse(stdout)).toEqual(vectors.map(() => ({ ok: true })));
  });

  it.each([
    ['a changed method', { request: { ...first.request, method: 'DELETE' } }, 'signature-mismatch'],
    ['a changed body', { request: { ...first.request, bodyBase64: 'eA==' } }, 'signature-mismatch'],
    ['another access key', { keypair: { ...first.keypair, accessKey: 'AKIAOTHER' } }, 'access-key-unknown'],
    ['no header', { authorization: '' }, 'authorization-missing'],
    ['another scheme', { authorization: 'Bearer abc' }, 'authorization-malformed'],
    ['a clock a quarter of an hour and a second off', { now: '2026-03-15T01:17:04Z' }, 'clock-skew'],
  ])('%s: not ok, exit 1', async (_name, change, reason) => {
    const { code, stdout } = await cli(['verify'], JSON.stringify([signed[0], { ...signed[0], ...change }]));
    expect(code).toBe(1);
    expect(JSON.parse(stdout)).toEqual([{ ok: true }, { ok: false, reason }]);
  });

  it('accepts a clock exactly 15 minutes off', async () => {
    const { code } = await cli(['verify'], JSON.stringify({ ...signed[0], now: '2026-03-15T01:17:03Z' }));
    expect(code).toBe(0);
  });

  it('a "now" that is no date: exit 2', async () => {
    const { code, stderr } = await cli(['verify'], JSON.stringify({ ...signed[0], now: 'soon' }));
    expect([code, stderr]).toEqual([2, expect.stringContaining('now: expected a date')]);
  });
});
