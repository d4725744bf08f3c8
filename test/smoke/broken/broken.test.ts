import { describe, expect, it } from 'vitest';
import { CHECKS } from '../../../src/smoke/checks/all.ts';
import { localConfig, localOptions, makeIdentities, secretsOf, startUpstreams } from '../../../src/smoke/local.ts';
import { startLocalGateway } from '../../../src/smoke/local-gateway.ts';
import { runChecks } from '../../../src/smoke/runner.ts';
import type { BrokenGateway } from './flaw.ts';
import { BROKEN } from './gateways.ts';
import { LESS_BROKEN } from './lesser.ts';
import { type Sabotage, startSaboteur } from './saboteur.ts';

/** Runs every check against a real gateway with saboteurs before and behind it. */
async function outcomesOf({ front, back, upstream }: Omit<BrokenGateway, 'flaw' | 'caughtBy'>) {
  const identities = await makeIdentities();
  const upstreams = await startUpstreams(identities);
  const open: { close(): Promise<void> }[] = [upstreams];
  const behind = async (port: number, sabotage: Sabotage | undefined) => {
    if (sabotage === undefined) return port;
    const saboteur = await startSaboteur(port, sabotage);
    open.push(saboteur);
    return saboteur.port;
  };
  const originOf = async (origin: string) =>
    `http://127.0.0.1:${await behind(Number(new URL(origin).port), back?.(identities))}`;
  try {
    const origins = {
      service: await originOf(upstreams.serviceOrigin),
      recorder: await originOf(upstreams.recorder.origin),
    };
    const config = localConfig(identities, origins);
    for (const tenant of Object.values(config.tenants)) Object.assign(tenant.upstream, upstream);
    const gateway = await startLocalGateway(config);
    open.unshift(gateway);
    const port = await behind(gateway.port, front?.(identities));
    const outcomes = await runChecks(CHECKS, localOptions(identities, upstreams.recorder, port));
    return { outcomes, secrets: secretsOf(identities) };
  } finally {
    for (const one of open) await one.close();
  }
}

const GATEWAYS = [...BROKEN, ...LESS_BROKEN];

describe('a gateway with one flaw is caught by one check and by no other', () => {
  it.each(GATEWAYS)('$flaw: $caughtBy', async ({ caughtBy, ...broken }) => {
    const { outcomes, secrets } = await outcomesOf(broken);
    const failed = outcomes.filter((outcome) => outcome.status === 'failed');
    expect(failed.map(({ check }) => check.id)).toEqual([caughtBy]);
    const [{ evidence, check } = { evidence: undefined, check: undefined }] = failed;
    expect(evidence).toMatchObject({ sent: expect.stringMatching(/./), received: expect.stringMatching(/./) });
    expect(evidence?.expected).toMatch(/./);
    expect(check?.rule).toMatch(/^(?:design|service-api\.md) §/);
    // What only repeats the failure is skipped and says so; nothing else is.
    for (const outcome of outcomes) {
      if (outcome.status === 'skipped') expect(outcome.reason).toBe(`depends on ${caughtBy}, which failed`);
    }
    for (const secret of secrets) expect(JSON.stringify(evidence)).not.toContain(secret);
    expect(JSON.stringify(evidence)).not.toMatch(/session=[A-Za-z0-9_-]{43}/);
  });

  it('shows of every check that it can fail', () => {
    const caught = new Set(GATEWAYS.map(({ caughtBy }) => caughtBy));
    expect(CHECKS.map(({ id }) => id).filter((id) => !caught.has(id))).toEqual([]);
    expect(caught.size).toBe(CHECKS.length);
  });
});

it('somebody in between who spoils nothing changes nothing', async () => {
  const innocent = () => ({});
  const { outcomes } = await outcomesOf({ front: innocent, back: innocent });
  expect(outcomes.filter(({ status }) => status !== 'passed')).toEqual([]);
});
