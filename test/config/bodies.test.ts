import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { loadConfig } from '../../src/config/load.ts';
import { faultsOf, folderOf, load, MINIMAL } from './fixture.ts';

const ENV = { VISITOR_SECRET: 'secret' };
const MIB = 1024 ** 2;
const withBodies = (bodies: string) => `${MINIMAL}\nbodies: { ${bodies} }\n`;

describe('room for request bodies', () => {
  it('has defaults', () => {
    const { snapshot, warnings } = load(MINIMAL, ENV);
    expect(snapshot.bodies).toEqual({ inMemory: MIB / 4, memory: 128 * MIB, disk: 4096 * MIB, folder: tmpdir() });
    expect(warnings).toEqual([]);
  });

  it('is in the folder that is named, relative to the file', () => {
    const file = join(folderOf({ 'countersign.yaml': withBodies('folder: .') }), 'countersign.yaml');
    expect(loadConfig(file, ENV).snapshot.bodies.folder).toBe(join(file, '..'));
  });

  it.each(['/nowhere/at/all', 'countersign.yaml'])('is not in %s', (folder) => {
    const faults = faultsOf(withBodies(`folder: ${folder}`), ENV);
    expect(faults).toMatchObject([
      { path: 'bodies.folder', message: expect.stringContaining('no folder that can be written to') },
    ]);
  });

  it('takes what one body may take in memory', () => {
    const faults = faultsOf(withBodies('inMemory: 2MiB, memory: 1MiB'), ENV);
    expect(faults).toMatchObject([{ path: 'bodies.inMemory', message: 'inMemory is larger than memory' }]);
  });

  it.each([
    ['memory: 1MiB, disk: 8MiB', 'bodies.disk'],
    ['memory: 8MiB, disk: 0B', 'bodies.memory'],
  ])('that no body of a route’s largest size fits into is warned of: %s', (bodies, key) => {
    expect(load(withBodies(bodies), ENV).warnings).toMatchObject([
      { path: 'tenants.acme.routes[0].maxBody', message: expect.stringContaining(key) },
    ]);
  });

  it('is in memory alone, with a warning, where the system has no folder for temporary files', () => {
    const file = (bodies: string) => join(folderOf({ 'countersign.yaml': withBodies(bodies) }), 'countersign.yaml');
    const [usual, none] = [file(''), file('disk: 0B')];
    vi.stubEnv('TMPDIR', '/nowhere/at/all');
    onTestFinished(() => void vi.unstubAllEnvs());
    const { snapshot, warnings } = loadConfig(usual, ENV);
    expect(snapshot.bodies.folder).toBeUndefined();
    expect(warnings).toMatchObject([{ path: 'bodies.folder', message: expect.stringContaining('held in memory') }]);
    expect(loadConfig(none, ENV).warnings).toEqual([]);
  });
});
