import { fork } from 'node:child_process';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { expect, it, onTestFinished } from 'vitest';

const PROGRAM = fileURLToPath(new URL('programs/write-lines.ts', import.meta.url));

function start() {
  const child = fork(PROGRAM, { stdio: ['ignore', 'pipe', 'inherit', 'ipc'] });
  onTestFinished(() => void child.kill('SIGKILL'));
  return { child, stdout: child.stdout ?? expect.unreachable() };
}

it('all lines are written before the process ends', async () => {
  const { child, stdout } = start();
  const written = text(stdout);
  child.send('go');
  expect((await written).trimEnd().split('\n')).toHaveLength(300);
});

it('a reader that has left does not keep the process from ending', async () => {
  const { child, stdout } = start();
  stdout.destroy();
  await once(stdout, 'close');
  child.send('go');
  expect(await once(child, 'exit')).toEqual([0, null]);
});
