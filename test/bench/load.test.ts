import { afterAll, describe, expect, it } from 'vitest';
import { checkAnswer } from '../../bench/check.ts';
import { Children } from '../../bench/children.ts';
import { BuiltInLoad } from '../../bench/load/built-in.ts';
import { hello } from '../../bench/peers/hello.ts';
import { startNodeUpstream } from '../../bench/upstream.ts';
import { get1k } from '../../bench/workloads/get-1k.ts';
import { post1k } from '../../bench/workloads/post-1k.ts';

const children = new Children({ prefix: { proxy: [], rest: [] }, cpus: undefined });
const stage = { children, folder: '', upstreamPort: 0 };

afterAll(() => children.end());

describe('what stands in where wrk and nginx are not installed', () => {
  it.each([get1k, post1k])('measures against node:http servers: $title', async (workload) => {
    const upstream = await startNodeUpstream(children);
    await checkAnswer({ ...upstream, cookie: 'session=x' }, workload);
    const peer = await hello.start(stage);
    const result = await new BuiltInLoad(children).run({ ...peer, workload }, 0.3);
    expect(result.errors).toBe(0);
    expect(result.requests).toBeGreaterThan(64);
    expect(result.seconds).toBeGreaterThanOrEqual(0.3);
  });
});

describe('a server that does not come up', () => {
  it('is reported with what it said', async () => {
    const command = [process.execPath, '-e', 'console.error("no such option"); process.exitCode = 3'];
    await expect(children.serve(1, { place: 'proxy', command })).rejects.toThrow(/ended with 3.*no such option/);
  });
});
