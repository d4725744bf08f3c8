import { type RunningPeer, type Stage, UNUSED_COOKIE } from '../peer.ts';
import { freePort } from '../port.ts';
import { programPath } from '../servers/path.ts';

/** Starts a proxy of ours in bench/servers that takes two ports as arguments: its own and the upstream's. */
export async function startNodeProxy({ children, upstreamPort }: Stage, program: string): Promise<RunningPeer> {
  const port = await freePort();
  const command = [process.execPath, programPath(program), `${port}`, `${upstreamPort}`];
  return { ...(await children.serve(port, { place: 'proxy', command })), cookie: UNUSED_COOKIE };
}
