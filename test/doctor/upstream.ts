import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';
import type { TlsOptions } from 'node:tls';
import { onTestFinished } from 'vitest';
import { folderOf } from '../config/fixture.ts';
import { type CliResult, cli } from '../kit/cli.ts';
import { type Brand, SERVICE, verifySignature } from '../kit/verify-signature.ts';

export const VISITOR = { accessKey: 'AKIAVISITOR', secretKey: 'visitor-secret' };
export const ADMIN = { accessKey: 'AKIAADMIN', secretKey: 'admin-secret' };

export interface UpstreamOptions {
  readonly keypairs?: Readonly<Record<string, string>>;
  readonly brand?: Brand;
  /** The host it verifies in place of the one it is sent, given its port. */
  readonly host?: (port: number) => string;
  readonly clock?: () => number;
  readonly tls?: TlsOptions;
  /** Answers what was verified; without it GET is the version and everything else 405. */
  readonly respond?: (request: IncomingMessage, response: ServerResponse) => void;
  /** The answer to what was not. */
  readonly refuse?: (request: IncomingMessage, response: ServerResponse) => void;
}

export interface TestUpstream {
  readonly port: number;
  readonly origin: string;
  /** Method and Host of every request. */
  readonly requests: { readonly method: string; readonly host: string; readonly authorization: string }[];
}

/** An upstream with an opinion of its own on how requests are signed; it verifies with the test kit's verifier. */
export async function startUpstream(options: UpstreamOptions = {}): Promise<TestUpstream> {
  const { brand = SERVICE, clock = Date.now, host, tls } = options;
  const keypairs = options.keypairs ?? {
    [VISITOR.accessKey]: VISITOR.secretKey,
    [ADMIN.accessKey]: ADMIN.secretKey,
  };
  const requests: TestUpstream['requests'] = [];
  const onRequest = async (request: IncomingMessage, response: ServerResponse) => {
    const { port } = server.address() as AddressInfo;
    const { method = '', url: target = '', headers } = request;
    requests.push({ method, host: headers.host ?? '', authorization: headers.authorization ?? '' });
    const rawHeaders: [string, string][] = [];
    for (let i = 0; i < request.rawHeaders.length; i += 2) {
      const [name = '', value = ''] = request.rawHeaders.slice(i, i + 2);
      rawHeaders.push([name, host !== undefined && name.toLowerCase() === 'host' ? host(port) : value]);
    }
    const body = await buffer(request);
    const verdict = verifySignature({ method, target, rawHeaders, body }, { brand, keypairs, now: clock() });
    response.setHeader('Date', new Date(clock()).toUTCString());
    for (const [name, value] of [
      ['Limit', 30_000],
      ['Remaining', 29_000],
      ['Reset', 900],
    ] as const) {
      response.setHeader(`X-RateLimit-${name}`, value);
    }
    if (!verdict.ok) {
      if (options.refuse !== undefined) return options.refuse(request, response);
      // What it repeats of the request must not come out of the doctor.
      const detail = `The credential ${headers.authorization} is not valid.\u001b[31m\n`;
      response.writeHead(401, { 'Content-Type': 'application/problem+json' });
      return response.end(JSON.stringify({ type: 'https://p.example/unauthorized', title: 'Unauthorized', detail }));
    }
    if (options.respond !== undefined) return options.respond(request, response);
    response.writeHead(method === 'GET' ? 200 : 405, { 'Content-Type': 'application/json' });
    return response.end(method === 'GET' ? '{"version":"v4.20190315"}' : '{}');
  };
  const server = tls === undefined ? createServer(onRequest) : createTlsServer(tls, onRequest);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(async () => {
    const closed = once(server, 'close');
    server.close();
    server.closeAllConnections();
    await closed;
  });
  const { port } = server.address() as AddressInfo;
  return { port, origin: `${tls === undefined ? 'http' : 'https'}://127.0.0.1:${port}`, requests };
}

type Keypairs = Readonly<Record<string, object>>;

/** A configuration of one tenant, acme, as a file of the test's own. */
export function configFile(upstream: object, keypairs: Keypairs = { visitor: VISITOR }, others: object = {}): string {
  const tenant = {
    origins: ['https://console.acme.example'],
    upstream: { version: 'v4.20190315', ...upstream },
    keypairs,
    login: { visitor: { role: Object.keys(keypairs)[0] } },
    routes: [],
  };
  return `${folderOf({ 'countersign.yaml': JSON.stringify({ tenants: { acme: tenant, ...others } }) })}/countersign.yaml`;
}

interface Finding {
  readonly code: string;
  readonly status: string;
  readonly endpoint: string;
  readonly role?: string;
  readonly name: string;
  readonly says: string;
  readonly hint?: string;
}

interface ReportedKeypair {
  readonly role: string;
  readonly accessKey: string;
  readonly state: string;
  readonly current: boolean;
  readonly version?: string;
  readonly quota?: object;
  readonly stringToSign?: readonly { readonly name: string; readonly value: string; readonly from: string }[];
}

export interface DoctorResult extends CliResult {
  readonly ok: boolean;
  readonly findings: readonly Finding[];
  /** Of the first endpoint of the first tenant. */
  readonly skewMs?: number;
  readonly steps: readonly { readonly name: string; readonly status: string; readonly says: string }[];
  readonly keypairs: readonly ReportedKeypair[];
}

/** `doctor --json` on a file. */
export async function doctor(file: string, ...args: readonly string[]): Promise<DoctorResult> {
  const result = await cli(['doctor', file, '--json', ...args]);
  const report = JSON.parse(result.stdout);
  const [endpoint] = report.tenants[0].endpoints;
  return { ...result, ...report, ...endpoint };
}
