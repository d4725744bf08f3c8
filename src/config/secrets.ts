import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { Secret } from '../secret.ts';
import type { YamlDocument } from './document.ts';
import type { Fault, PathSegment } from './fault.ts';
import type { SecretSource } from './schema-values.ts';

export type Environment = Readonly<Record<string, string | undefined>>;

/** Resolves the secrets of one configuration file; what cannot be resolved becomes a fault where it stands. */
export class SecretReader {
  readonly #document: YamlDocument;
  readonly #folder: string;
  readonly #env: Environment;
  readonly #faults: Fault[];
  /** Where secrets stand in the file as plain text. */
  readonly inline: PathSegment[][] = [];

  constructor(document: YamlDocument, folder: string, env: Environment, faults: Fault[]) {
    this.#document = document;
    this.#folder = folder;
    this.#env = env;
    this.#faults = faults;
  }

  read(source: SecretSource, path: PathSegment[]): Secret | undefined {
    if (typeof source === 'string') {
      this.inline.push(path);
      return new Secret(source);
    }
    const found = 'env' in source ? this.#fromEnvironment(source.env) : this.#fromFile(source.file);
    if (found instanceof Secret) return found;
    this.#faults.push(this.#document.fault(path, found));
    return undefined;
  }

  #fromEnvironment(name: string): Secret | string {
    const text = this.#env[name];
    return text === undefined || text === '' ? `environment variable ${name} is not set` : new Secret(text);
  }

  #fromFile(path: string): Secret | string {
    const file = resolve(this.#folder, path);
    try {
      const text = readFileSync(file, 'utf8').replace(/\r?\n$/, '');
      return text === '' ? `secret file ${file} is empty` : new Secret(text);
    } catch (error) {
      return `secret file ${file} cannot be read (${(error as NodeJS.ErrnoException).code ?? 'unknown error'})`;
    }
  }
}
