import { type Peer, UNUSED_COOKIE } from '../peer.ts';
import { freePort } from '../port.ts';
import { requireGoProgram } from './go.ts';
import { judgeSigV4 } from './sigv4.ts';

const KEYPAIR = { accessKey: 'AKIABENCHVISITOR0001', secretKey: 'bench-secret-not-for-production-use' };

/** It knows no sessions: whoever reaches it is signed for. */
export const awsSigv4Proxy: Peer = {
  name: 'aws-sigv4-proxy',
  title: 'aws-sigv4-proxy (Go), signs by AWS SigV4, no sessions',
  required: false,
  async start({ children, upstreamPort }) {
    const { program, versions } = requireGoProgram('aws-sigv4-proxy');
    const port = await freePort();
    const command = [
      ...['/usr/bin/env', `AWS_ACCESS_KEY_ID=${KEYPAIR.accessKey}`, `AWS_SECRET_ACCESS_KEY=${KEYPAIR.secretKey}`],
      ...[program, '--port', `127.0.0.1:${port}`, '--name', 'execute-api', '--region', 'us-east-1'],
      ...['--host', `127.0.0.1:${upstreamPort}`, '--upstream-url-scheme', 'http'],
    ];
    const server = await children.serve(port, { place: 'proxy', command });
    return { ...server, cookie: UNUSED_COOKIE, versions, judge: (seen, body) => judgeSigV4(seen, body, KEYPAIR) };
  },
};
