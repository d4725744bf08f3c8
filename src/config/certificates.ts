import { createPrivateKey, type KeyObject, X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { createSecureContext } from 'node:tls';
import type { TlsIdentity } from '../tls.ts';
import type { YamlDocument } from './document.ts';
import type { Fault, PathSegment } from './fault.ts';
import type { SecretSource } from './schema-values.ts';
import type { SecretReader } from './secrets.ts';

const DAY = 86_400_000;
/** A certificate with less time left is warned about, unless it was made for a short life anyway. */
const SOON = 14 * DAY;
const LEAST_SHARE_LEFT = 1 / 3;

export interface CertificateContext {
  readonly document: YamlDocument;
  /** Folder that relative paths are relative to. */
  readonly folder: string;
  readonly secrets: SecretReader;
  /** The files the configuration was read from: certificates are added, so that a renewed one is noticed. */
  readonly sources: Set<string>;
  readonly faults: Fault[];
}

/** Reads the PEM files of one configuration; what is wrong with one becomes a fault where it is named. */
export class CertificateReader {
  readonly #context: CertificateContext;
  /** Certificates that will expire soon. */
  readonly warnings: Fault[] = [];

  constructor(context: CertificateContext) {
    this.#context = context;
  }

  /** A certificate that is valid now, and the key that belongs to it. `at` is where `cert` and `key` stand. */
  identity(source: { readonly cert: string; readonly key: SecretSource }, at: PathSegment[]): TlsIdentity | undefined {
    const cert = this.#read(source.cert, [...at, 'cert']);
    const key = this.#context.secrets.read(source.key, [...at, 'key']);
    if (cert === undefined || key === undefined) return undefined;
    const [leaf] = certificatesIn(cert) ?? [];
    const privateKey = privateKeyOf(key.reveal());
    if (
      leaf === undefined ||
      privateKey === undefined ||
      !leaf.checkPrivateKey(privateKey) ||
      !isUsable({ cert, key })
    ) {
      this.#fault(at, 'cert and key are no PEM files that belong together');
      return undefined;
    }
    return this.#isInForce(leaf, [...at, 'cert']) ? { cert, key } : undefined;
  }

  /** A file of authorities' certificates. */
  authorities(file: string, at: PathSegment[]): string | undefined {
    const text = this.#read(file, at);
    if (text === undefined) return undefined;
    if (certificatesIn(text) !== undefined) return text;
    this.#fault(at, `${resolve(this.#context.folder, file)} holds no PEM certificates`);
    return undefined;
  }

  #isInForce(certificate: X509Certificate, at: PathSegment[]): boolean {
    const [from, to] = [certificate.validFromDate.getTime(), certificate.validToDate.getTime()];
    const now = Date.now();
    if (now > to) {
      this.#fault(at, `the certificate expired on ${dayOf(to)}`, 'renew it');
      return false;
    }
    if (now < from) {
      this.#fault(at, `the certificate is not valid before ${dayOf(from)}`, 'is the clock of this machine right?');
      return false;
    }
    if (to - now < Math.min(SOON, (to - from) * LEAST_SHARE_LEFT)) {
      const hint = 'renew it; a running gateway takes the new file by itself';
      this.warnings.push(this.#context.document.fault(at, `the certificate expires on ${dayOf(to)}`, { hint }));
    }
    return true;
  }

  #read(path: string, at: PathSegment[]): string | undefined {
    const file = resolve(this.#context.folder, path);
    this.#context.sources.add(file);
    try {
      return readFileSync(file, 'utf8');
    } catch (error) {
      this.#fault(at, `file ${file} cannot be read (${(error as NodeJS.ErrnoException).code ?? 'unknown error'})`);
      return undefined;
    }
  }

  #fault(at: PathSegment[], message: string, hint?: string): void {
    this.#context.faults.push(this.#context.document.fault(at, message, hint === undefined ? {} : { hint }));
  }
}

/** The certificates of a PEM text, in order; undefined when there is none, or one that is none. */
function certificatesIn(pem: string): X509Certificate[] | undefined {
  const blocks = pem.match(/-----BEGIN CERTIFICATE-----[\s\S]+?-----END CERTIFICATE-----/g);
  try {
    return blocks?.map((block) => new X509Certificate(block));
  } catch {
    return undefined;
  }
}

function privateKeyOf(pem: string): KeyObject | undefined {
  try {
    return createPrivateKey(pem);
  } catch {
    return undefined;
  }
}

/** TLS is the judge of last resort: it refuses keys that are too weak, for one. */
function isUsable({ cert, key }: TlsIdentity): boolean {
  try {
    createSecureContext({ cert, key: key.reveal() });
    return true;
  } catch {
    return false;
  }
}

function dayOf(time: number): string {
  return new Date(time).toISOString().slice(0, 10);
}
