import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { Secret } from '../secret.ts';
import type { YamlDocument } from './document.ts';
import type { Fault, PathSegment } from './fault.ts';
import type { SecretSource } from './schema-values.ts';

export type Environment = Readonly<Record<string, string | undefined>>;

/** Why a secret could not be had. */
interface Unresolved {
  readonly message: string;
  readonly hint: string;
}

/** Resolves the secrets of one configuration file; what cannot be resolved becomes a fault where it stands. */
export class SecretReader {
  readonly #document: YamlDocument;
  readonly #folder: string;
  readonly #env: Environment;
  readonly #faults: Fault[];
  /** Where secrets stand in the file as plain text. */
  readonly inline: PathSegment[][] = [];
  /** The files secrets were read from, or would have been, absolute. */
  readonly files = new Set<string>();

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
    this.#faults.push(this.#document.fault(path, found.message, { hint: found.hint }));
    return undefined;
  }

  #fromEnvironment(name: string): Secret | Unresolved {
    const text = this.#env[name];
    if (text !== undefined && text !== '') return new Secret(text);
    return {
      message: `environment variable ${name} is not set`,
      hint: `set ${name} for the process, or use { file: path }`,
    };
  }

  #fromFile(path: string): Secret | Unresolved {
    const file = resolve(this.#folder, path);
    this.files.add(file);
    try {
      const text = readFileSync(file, 'utf8').replace(/\r?\n$/, '');
      if (text !== '') return new Secret(text);
      return { message: `secret file ${file} is empty`, hint: 'write the secret into it' };
    } catch (error) {
      const { code = 'unknown error' } = error as NodeJS.ErrnoException;
      const hint =
        code === 'ENOENT'
          ? 'relative paths are relative to the configuration file'
          : 'who runs the gateway must be able to read it';
      return { message: `secret file ${file} cannot be read (${code})`, hint };
    }
  }
}
