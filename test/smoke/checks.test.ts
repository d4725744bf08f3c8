import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { boot } from '../../src/smoke/boot.ts';
import { type Check, Mismatch, NotApplicable } from '../../src/smoke/check.ts';
import { CHECKS } from '../../src/smoke/checks/all.ts';
import type { SmokeOptions } from '../../src/smoke/context.ts';
import { runChecks } from '../../src/smoke/runner.ts';

describe('the list of checks', () => {
  it('has ids of the form group.name, each once, and a rule for each', () => {
    const ids = CHECKS.map(({ id }) => id);
    expect(new Set(ids).size).toBe(ids.length);
    for (const { id, rule, says } of CHECKS) {
      expect(id).toMatch(/^[a-z]+\.[a-z-]+$/);
      expect(id.length).toBeLessThan(30);
      expect(rule).toMatch(/^(?:design|service-api\.md) §/);
      expect(says).not.toMatch(/\.$/);
    }
  });

  it('runs what a check comes after before it', () => {
    for (const [i, { id, after = [] }] of CHECKS.entries()) {
      const earlier = CHECKS.slice(0, i).map((check) => check.id);
      expect([id, after.filter((name) => !earlier.includes(name))]).toEqual([id, []]);
    }
  });
});

describe('a run', () => {
  let started: Awaited<ReturnType<typeof boot>>;
  beforeAll(async () => {
    started = await boot();
  });
  afterAll(() => started.close());

  const evidence = { sent: 'a', received: 'b', expected: 'c' };
  const passes: Check['run'] = async () => undefined;
  const fails: Check['run'] = async () => {
    throw new Mismatch(evidence);
  };
  const check = (id: string, run: Check['run'], rest: Partial<Check> = {}): Check => ({
    id,
    run,
    says: 'says',
    rule: 'design §1',
    needs: 'outside',
    ...rest,
  });
  const verdicts = async (checks: readonly Check[], options: SmokeOptions) =>
    (await runChecks(checks, options)).map((outcome) =>
      outcome.status === 'skipped' ? outcome.reason : outcome.status,
    );

  it('skips what depends on a failure, through any number of others, and names the first cause', async () => {
    const checks = [
      check('a', fails),
      check('b', passes, { after: ['a'] }),
      check('c', fails, { after: ['b'] }),
      check('d', passes),
    ];
    const because = 'depends on a, which failed';
    expect(await verdicts(checks, started.options)).toEqual(['failed', because, because, 'passed']);
  });

  it('runs what depends on a check that could not be told, or was not asked for', async () => {
    const untold: Check['run'] = async () => {
      throw new NotApplicable('no occasion');
    };
    const checks = [check('a', untold), check('b', passes, { after: ['a', 'absent'] })];
    expect(await verdicts(checks, started.options)).toEqual(['no occasion', 'passed']);
  });

  it('does not run what needs the inside against a gateway that is not ours', async () => {
    const { inside: _inside, ...outside } = started.options;
    expect(await verdicts([check('a', fails, { needs: 'inside' })], outside)).toEqual(['not visible from outside']);
  });

  it('lets a defect of a check surface as what it is', async () => {
    const broken = check('a', async () => {
      throw new TypeError('a defect');
    });
    await expect(runChecks([broken], started.options)).rejects.toThrow(TypeError);
  });
});
