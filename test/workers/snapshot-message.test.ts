import { deserialize, serialize } from 'node:v8';
import { expect, it } from 'vitest';
import { Keypairs } from '../../src/config/keypairs.ts';
import type { Snapshot } from '../../src/snapshot.ts';
import { type PackedSnapshot, packSnapshot, unpackSnapshot } from '../../src/workers/snapshot-message.ts';
import { loadExample } from '../config/fixture.ts';

/** As it arrives in another process. */
function sent(snapshot: Snapshot): PackedSnapshot {
  return deserialize(serialize(packSnapshot(snapshot))) as PackedSnapshot;
}

it('every key of the example configuration arrives as it was sent, secrets included', () => {
  const { snapshot } = loadExample();
  const received = unpackSnapshot(sent(snapshot), new Keypairs());
  expect(received).toEqual(snapshot);
  expect(received.sessions.store.reveal()).toBe(snapshot.sessions.store.reveal());
  expect(received.sessions.sealKeys.map((key) => key.reveal())).toEqual(
    snapshot.sessions.sealKeys.map((key) => key.reveal()),
  );
  const keysOf = ({ tenants }: Snapshot) =>
    tenants.flatMap(({ keypairs }) =>
      [...keypairs].flatMap(([role, { members }]) =>
        members.map(({ keypair, state }) => [role, state, keypair.accessKey, keypair.secretKey.reveal()]),
      ),
    );
  expect(keysOf(received)).toEqual(keysOf(snapshot));
  expect(keysOf(received).length).toBeGreaterThan(2);
  const [tenant] = received.tenants;
  expect([...received.sites.values()].every((site) => site.tenant === tenant)).toBe(true);
});

it('a keypair that the configuration before had too is the same object, and keeps what is known of it', () => {
  const { snapshot } = loadExample();
  const keypairs = new Keypairs();
  const ringOf = ({ tenants }: Snapshot) => tenants[0]?.keypairs.get('visitor');
  const first = ringOf(unpackSnapshot(sent(snapshot), keypairs))?.members[0]?.keypair;
  const figures = { limit: '10', remaining: '9', reset: '8' };
  if (first !== undefined) first.quota = figures;
  const second = ringOf(unpackSnapshot(sent(snapshot), new Keypairs(keypairs)))?.members[0]?.keypair;
  expect(second).toBe(first);
  expect(second?.quota).toBe(figures);
});

it('a worker that starts later learns which keypairs the Service refuses', () => {
  const { snapshot } = loadExample();
  const keypair = snapshot.tenants[0]?.keypairs.get('visitor')?.members[0]?.keypair;
  const refusal = { count: 1, until: 60_000, at: 0, tryingUntil: 0 };
  if (keypair !== undefined) keypair.refusal = refusal;
  const received = unpackSnapshot(sent(snapshot), new Keypairs());
  expect(received.tenants[0]?.keypairs.get('visitor')?.members[0]?.keypair.refusal).toEqual(refusal);
});

it('what would not arrive as it is, is refused', () => {
  const { snapshot } = loadExample();
  expect(() => packSnapshot({ ...snapshot, drain: new URL('http://a/') } as unknown as Snapshot)).toThrow(/hold a URL/);
  expect(() => packSnapshot({ ...snapshot, drain: () => 1 } as unknown as Snapshot)).toThrow(/data only/);
});
