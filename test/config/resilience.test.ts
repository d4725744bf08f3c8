import { expect, it } from 'vitest';
import { mergeYaml } from '../kit/yaml.ts';
import { faultsOf, load, MINIMAL } from './fixture.ts';

const ENV = { VISITOR_SECRET: 's' };
const upstreamOf = (yaml: string) => mergeYaml(MINIMAL, `tenants: { acme: { upstream: ${yaml} } }`);

it('an upstream has a breaker, a retry budget and the following of its clock without being asked, and no health checks', () => {
  const [tenant] = load(MINIMAL, ENV).snapshot.tenants;
  expect(tenant?.upstream).toMatchObject({
    breaker: { failures: 5, ratio: 0.5, volume: 20, open: 1000, longestOpen: 30_000 },
    retries: { ratio: 0.2, minimum: 10 },
    followClock: true,
  });
  expect(tenant?.upstream.health).toBeUndefined();
});

it('health: {} asks for / every 5 s', () => {
  const [tenant] = load(upstreamOf('{ health: {} }'), ENV).snapshot.tenants;
  expect(tenant?.upstream.health).toEqual({ path: '/', interval: 5000, timeout: 2000 });
});

it.each([
  ['{ breaker: { failures: 0 } }', 'breaker.failures'],
  ['{ breaker: { ratio: 0 } }', 'breaker.ratio'],
  ['{ breaker: { ratio: 50 } }', 'breaker.ratio'],
  ['{ breaker: { open: 1m } }', 'breaker.open'],
  ['{ breaker: { open: 0s } }', 'breaker.open'],
  ['{ retries: { ratio: -1 } }', 'retries.ratio'],
  ['{ retries: { minimum: 0.5 } }', 'retries.minimum'],
  ['{ health: { path: v2 } }', 'health.path'],
  ['{ health: { path: "/v2 HTTP/1.1\\r\\nX: y" } }', 'health.path'],
  ['{ health: { interval: 0s } }', 'health.interval'],
  ['{ followClock: own }', 'followClock'],
])('%s is one fault, with its path and line', (yaml, path) => {
  const faults = faultsOf(upstreamOf(yaml), ENV);
  expect(faults.map((fault) => fault.path)).toEqual([`tenants.acme.upstream.${path}`]);
  expect(faults[0]?.line).toBeGreaterThan(5);
});
