import { lookup } from 'node:dns/promises';
import { connect, isIP, type Socket } from 'node:net';
import type { PeerCertificate } from 'node:tls';
import { connect as connectTls, type TLSSocket } from 'node:tls';
import type { Upstream } from '../tenant.ts';
import { tlsClientOptions } from '../tls.ts';
import { spanInWords } from './duration.ts';
import { bare, serverNameOf, TimedOut } from './http.ts';
import { troubleOf } from './network-error.ts';
import { printable } from './printable.ts';
import type { Step } from './report.ts';

const DAY = 86_400_000;
/** A certificate that expires sooner is worth a word, in milliseconds. */
const SOON = 14 * DAY;

/** How far the way to an endpoint is open. */
export interface Connection {
  readonly steps: readonly Step[];
  readonly isOpen: boolean;
  /** What the name resolves to; empty for an address. */
  readonly addresses: readonly string[];
  /** The names its certificate is for; empty without TLS. */
  readonly certificateNames: readonly string[];
}

/** The Host the gateway sends and signs for an endpoint. */
export function hostOf(upstream: Upstream, endpoint: string): string {
  return upstream.signedHost ?? endpoint.slice(endpoint.indexOf('//') + 2);
}

/** Resolves, connects and shakes hands, one step after the other; what follows a failure is left out. */
export async function openConnection(upstream: Upstream, endpoint: string, now: () => number): Promise<Connection> {
  const { protocol, hostname, port } = new URL(endpoint);
  const isTls = protocol === 'https:';
  const host = bare(hostname);
  const steps: Step[] = [];
  const addresses: string[] = [];
  const stopped = (step: Step): Connection => {
    steps.push(step);
    return { steps, isOpen: false, addresses, certificateNames: [] };
  };

  if (isIP(host) === 0) {
    try {
      addresses.push(...(await lookup(host, { all: true })).map(({ address }) => address));
    } catch (error) {
      return stopped({ name: 'name', status: 'failed', code: 'name-unknown', ...wordsOf(error, `${host}: `) });
    }
    steps.push({ name: 'name', status: 'ok', says: `${host} is ${addresses.join(', ')}` });
  }

  let socket: Socket;
  try {
    const startedAt = performance.now();
    socket = await within(
      upstream.timeouts.connect,
      connect({ host, port: Number(port) || (isTls ? 443 : 80) }),
      'connect',
    );
    const place = `${socket.remoteAddress} port ${socket.remotePort}`;
    steps.push({
      name: 'connection',
      status: 'ok',
      says: `${place} in ${Math.round(performance.now() - startedAt)} ms`,
    });
  } catch (error) {
    return stopped({ name: 'connection', status: 'failed', code: 'connection-failed', ...wordsOf(error) });
  }
  if (!isTls) {
    socket.destroy();
    return { steps, isOpen: true, addresses, certificateNames: [] };
  }

  const name = upstream.tls?.serverName ?? serverNameOf(hostOf(upstream, endpoint)) ?? serverNameOf(hostname);
  // An untrusted certificate is read as well, to say whose it is; nothing is ever sent over this connection.
  const tls = connectTls({
    ...tlsClientOptions(upstream.tls),
    socket,
    host,
    rejectUnauthorized: false,
    ...(name !== undefined && { servername: name }),
  });
  try {
    await within(upstream.timeouts.connect, tls, 'secureConnect');
    const step = tlsStep(tls, now());
    const certificateNames = namesOf(tls.getPeerCertificate());
    return { steps: [...steps, step], isOpen: step.status !== 'failed', addresses, certificateNames };
  } catch (error) {
    return stopped({ name: 'tls', status: 'failed', code: 'tls-failed', ...wordsOf(error) });
  } finally {
    tls.destroy();
  }
}

function tlsStep(socket: TLSSocket, now: number): Step {
  const certificate = socket.getPeerCertificate();
  const expiresAt = Date.parse(certificate.valid_to);
  const [subject, issuer] = [commonName(certificate.subject), commonName(certificate.issuer)];
  const left = `${expiresAt > now ? 'expires in' : 'expired'} ${spanInWords(expiresAt - now)}${expiresAt > now ? '' : ' ago'}`;
  const seen = `${socket.getProtocol()}, certificate of ${subject} by ${issuer}, ${left}.`;
  if (!socket.authorized) {
    const reason: unknown = socket.authorizationError;
    const { code, says, hint } = troubleOf(typeof reason === 'string' ? { code: reason } : reason);
    const whose = code === 'ERR_TLS_CERT_ALTNAME_INVALID' ? ` It is for ${namesOf(certificate).join(', ')}.` : '';
    return {
      name: 'tls',
      status: 'failed',
      code: 'certificate-untrusted',
      says: `${says}${whose} Seen: ${seen}`,
      ...(hint !== undefined && { hint }),
    };
  }
  if (expiresAt - now > SOON) return { name: 'tls', status: 'ok', says: seen };
  const hint = 'Renew it at the upstream.';
  return { name: 'tls', status: 'warning', code: 'certificate-expires-soon', says: seen, hint };
}

function commonName(name: PeerCertificate['subject'] | undefined): string {
  return printable(String(name?.CN ?? name?.O ?? 'nobody in particular'));
}

function namesOf(certificate: PeerCertificate): string[] {
  return [...(certificate.subjectaltname ?? '').matchAll(/(?:DNS|IP Address):([^\s,"]+)/g)].map(([, name]) =>
    printable(name ?? ''),
  );
}

function wordsOf(error: unknown, before = ''): Pick<Step, 'says' | 'hint'> {
  const { says, hint } = troubleOf(error);
  return { says: `${before}${says}`, ...(hint !== undefined && { hint }) };
}

function within<S extends Socket>(timeout: number, socket: S, event: 'connect' | 'secureConnect'): Promise<S> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => socket.destroy(new TimedOut('no answer in time')), timeout);
    socket.once(event, () => {
      clearTimeout(timer);
      resolve(socket);
    });
    socket.on('error', (error) => {
      clearTimeout(timer);
      reject(error);
    });
  });
}
