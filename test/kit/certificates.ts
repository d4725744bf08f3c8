import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** PEM files of one certificate, and what they hold. */
export interface Issued {
  readonly certFile: string;
  readonly keyFile: string;
  readonly cert: string;
  readonly key: string;
}

/** An authority of the test's own, by openssl; its files go with `remove`. */
export class Authority {
  readonly folder = mkdtempSync(join(tmpdir(), 'countersign-ca-'));
  readonly ca: Issued;
  #count = 0;

  constructor(name = 'authority for tests') {
    this.ca = this.#files('ca');
    openssl(['req', '-x509', '-subj', `/CN=${name}`, '-days', '2', ...newKey(this.ca.keyFile, this.ca.certFile)]);
    writeFileSync(join(this.folder, 'index'), '');
    writeFileSync(
      join(this.folder, 'openssl.cnf'),
      [
        ...['[ca]', 'default_ca = own', '[own]', `database = ${this.folder}/index`, `new_certs_dir = ${this.folder}`],
        ...['rand_serial = yes', 'unique_subject = no', 'default_md = sha256', 'policy = any'],
        ...['[any]', 'commonName = supplied', ''],
      ].join('\n'),
    );
  }

  /**
   * A certificate for names and addresses, `DNS:a.test` or `IP:127.0.0.1`, that lasts `days` from now on and was made
   * `age` days ago.
   */
  issue(names: readonly string[], days = 90, age = 0): Issued {
    const files = this.#files(`leaf-${++this.#count}`);
    const [extensions, request] = [join(this.folder, 'extensions'), `${files.certFile}.request`];
    writeFileSync(
      extensions,
      names.length === 0 ? 'basicConstraints=CA:FALSE\n' : `subjectAltName=${names.join(',')}\n`,
    );
    openssl(['req', '-subj', `/CN=${names[0]?.split(':')[1] ?? 'client'}`, ...newKey(files.keyFile, request)]);
    const [from, to] = [-age - MINUTE, days].map((day) => stampOf(Date.now() + day * 86_400_000));
    openssl([
      ...['ca', '-batch', '-notext', '-config', join(this.folder, 'openssl.cnf'), '-in', request],
      ...['-cert', this.ca.certFile, '-keyfile', this.ca.keyFile, '-extfile', extensions, '-out', files.certFile],
      ...['-startdate', from ?? '', '-enddate', to ?? ''],
    ]);
    return files;
  }

  remove(): void {
    rmSync(this.folder, { recursive: true });
  }

  #files(name: string): Issued {
    const [certFile, keyFile] = [join(this.folder, `${name}.pem`), join(this.folder, `${name}.key`)];
    return {
      certFile,
      keyFile,
      get cert() {
        return readFileSync(certFile, 'utf8');
      },
      get key() {
        return readFileSync(keyFile, 'utf8');
      },
    };
  }
}

/** In days: so far the clocks of two parties may be apart. */
const MINUTE = 1 / 1440;

/** `20260315010203Z` */
function stampOf(time: number): string {
  return new Date(time).toISOString().replace(/[-:T]|\.\d+/g, '');
}

function newKey(keyFile: string, out: string): string[] {
  return ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-keyout', keyFile, '-out', out];
}

function openssl(args: readonly string[]): void {
  execFileSync('openssl', args, { stdio: ['ignore', 'ignore', 'pipe'] });
}
