import { once } from 'node:events';
import { createServer, type IncomingMessage } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import { tmpdir } from 'node:os';
import { expect, it, onTestFinished } from 'vitest';
import { Bodies } from '../../src/forward/bodies/bodies.ts';
import { Pieces } from '../../src/forward/bodies/pieces.ts';
import { ClientGone } from '../../src/forward/body.ts';
import { admit } from '../../src/policy/decide.ts';
import { route, session, withBody } from '../policy/fixture.ts';

const settings = { inMemory: 1000, memory: 100_000, disk: 100_000, folder: tmpdir() };

// While its session is looked up, for one: no event tells of it any more, and nobody would give its room back.
it.each([500, 5000])('a client that left before its body was asked for is gone: %i bytes', async (length) => {
  const server = createServer().listen(0, '127.0.0.1');
  onTestFinished(() => void server.close());
  await once(server, 'listening');
  const client = connect((server.address() as AddressInfo).port, '127.0.0.1');
  client.write(`POST / HTTP/1.1\r\nHost: x\r\nContent-Length: ${length}\r\n\r\nthe beginning`);
  const [request] = (await once(server, 'request')) as [IncomingMessage];
  const closed = new Promise((resolve) => request.on('error', () => undefined).once('close', resolve));
  client.destroy();
  await closed;

  const bodies = new Bodies(settings, () => undefined);
  const upload = bodies.expect(admit(withBody(length), session('visitor'), route('/v2')));
  expect(bodies.budgets.memory.used + bodies.budgets.disk.used).toBe(length);
  await expect(upload.receive(request)).rejects.toBeInstanceOf(ClientGone);
  expect([bodies.budgets.memory.used, bodies.budgets.disk.used]).toEqual([0, 0]);
});

// An object for each byte would take a hundred times the size of the body.
it('a body in very small pieces is held in few', () => {
  const pieces = new Pieces();
  const bytes = Buffer.from(Array.from({ length: 100_000 }, (_, i) => i % 251));
  const large = Buffer.alloc(5000, 'x');
  for (let i = 0; i < bytes.length; i++) pieces.add(bytes.subarray(i, i + 1));
  pieces.add(large);
  for (let i = 0; i < bytes.length; i += 1000) pieces.add(bytes.subarray(i, i + 1000));
  const taken = [...pieces.take(false), ...pieces.take(true)];
  expect(taken.length).toBeLessThan(20);
  expect(Buffer.concat(taken).equals(Buffer.concat([bytes, large, bytes]))).toBe(true);
});
