import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { refusesStrangers } from '../checks/strangers.ts';
import { INSTALLED } from '../installed.ts';
import type { Peer } from '../peer.ts';
import { freePort } from '../port.ts';
import { MissingProgram } from '../programs.ts';
import { signInAt } from './login.ts';
import { judgeSignature, KEYPAIR, VERSION } from './signature.ts';

const PROGRAM = fileURLToPath(new URL('../python/proxy.py', import.meta.url));
const PYTHON = join(INSTALLED, 'python/bin/python');
const VERSIONS =
  'import json, platform, aiohttp, uvloop; print(json.dumps({"python": platform.python_version(), "aiohttp": aiohttp.__version__, "uvloop": uvloop.__version__}))';

export const aiohttp: Peer = {
  name: 'aiohttp',
  title: 'Python aiohttp + uvloop, full job, sessions in memory',
  required: false,
  async start({ children, upstreamPort }) {
    const versions = installedVersions();
    const port = await freePort();
    const { accessKey, secretKey } = KEYPAIR;
    const command = [PYTHON, PROGRAM, `${port}`, `${upstreamPort}`, accessKey, secretKey, VERSION];
    const server = await children.serve(port, { place: 'proxy', command });
    const cookie = await signInAt(port);
    return { ...server, cookie, versions, check: () => refusesStrangers(port), judge: judgeSignature };
  },
};

function installedVersions(): Record<string, string> {
  const { status, stdout } = spawnSync(PYTHON, ['-c', VERSIONS], { encoding: 'utf8', timeout: 10_000 });
  if (status !== 0) throw new MissingProgram('aiohttp is not installed: npm run bench:peers');
  return JSON.parse(stdout) as Record<string, string>;
}
