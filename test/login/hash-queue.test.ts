import { describe, expect, it } from 'vitest';
import { HashQueue } from '../../src/login/hash-queue.ts';

describe('HashQueue', () => {
  it('runs no more than it may at once, lets the rest wait in order, and refuses beyond', async () => {
    const queue = new HashQueue({ concurrency: 2, capacity: 3 });
    const started: number[] = [];
    const gates: PromiseWithResolvers<void>[] = [];
    const runs = [0, 1, 2, 3, 4].map((i) => {
      const gate = Promise.withResolvers<void>();
      gates.push(gate);
      return queue.run(async () => {
        started.push(i);
        await gate.promise;
        return i;
      });
    });
    expect(started).toEqual([0, 1]);
    await expect(queue.run(async () => 5)).rejects.toMatchObject({
      code: 'rate-limit-exceeded',
      headers: { 'Retry-After': '1' },
    });
    gates[1]?.resolve();
    expect(await runs[1]).toBe(1);
    expect(started).toEqual([0, 1, 2]);
    for (const gate of gates) gate.resolve();
    expect(await Promise.all(runs)).toEqual([0, 1, 2, 3, 4]);
    expect(started).toEqual([0, 1, 2, 3, 4]);
  });

  it('gives a place back when a task fails', async () => {
    const queue = new HashQueue({ concurrency: 1, capacity: 0 });
    for (let i = 0; i < 3; i++) {
      await expect(queue.run(() => Promise.reject(new Error('broken')))).rejects.toThrow('broken');
    }
    expect(await queue.run(async () => 'fine')).toBe('fine');
  });
});
