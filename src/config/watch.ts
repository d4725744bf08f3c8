import { resolve } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import type { OperatorSettings, Snapshot } from '../snapshot.ts';
import { ConfigError, type Fault } from './fault.ts';
import { areSame, FileWatch, type Fingerprints, fingerprintsOf } from './file-watch.ts';
import { changedSettings, keepFixedSettings } from './fixed-settings.ts';
import type { Keypairs } from './keypairs.ts';
import { type ConfigReading, type ResolvedConfig, readConfig, type ServiceSettings } from './load.ts';
import type { Environment } from './secrets.ts';

/** What came of one reload. */
export interface ReloadResult {
  /** Epoch milliseconds. */
  readonly at: number;
  /** Whether the configuration that was read is in force; if not, the one before it still is. */
  readonly ok: boolean;
  /** What asked for it: `start`, `file changed`, `SIGHUP`, or what the caller of `reload` gave. */
  readonly reason: string;
  readonly faults: readonly Fault[];
  /** Dangerous settings, and changes that need a restart. */
  readonly warnings: readonly Fault[];
  /** Names of tenants that are new, and of those that are no more. */
  readonly added: readonly string[];
  readonly removed: readonly string[];
}

export interface ConfigWatchOptions {
  readonly env?: Environment;
  readonly clock?: () => number;
  /** Milliseconds between the last change of a file and the reload, 100 unless given. */
  readonly debounce?: number;
  /** Milliseconds between looks at files that may have changed without an event, 5000 unless given. */
  readonly poll?: number;
}

interface Reading {
  readonly reading: ConfigReading;
  readonly fingerprints: Fingerprints;
}

/** Files that go on changing while they are read are read again this often, then taken as they are. */
const MOST_READINGS = 5;

/**
 * The configuration in force. It is read again on request and when the file, a users file or a secret file changes; a
 * reading without faults takes its place in one step, one with faults changes nothing.
 */
export class ConfigWatch {
  readonly #file: string;
  readonly #env: Environment;
  readonly #clock: () => number;
  readonly #debounce: number;
  readonly #files: FileWatch;
  readonly #listeners = new Set<(result: ReloadResult) => void>();
  /** As it was at the start: what is fixed is compared with this for ever. */
  readonly #initial: ResolvedConfig;
  #inForce: ResolvedConfig;
  #fingerprints: Fingerprints;
  #last: ReloadResult;
  #failures = 0;
  #queue: Promise<unknown> = Promise.resolve();
  #closed = false;

  /** Reads the file for the first time. Throws `ConfigError` with every fault. */
  constructor(file: string, options: ConfigWatchOptions = {}) {
    this.#file = file;
    this.#env = options.env ?? process.env;
    this.#clock = options.clock ?? Date.now;
    this.#debounce = options.debounce ?? 100;
    const { reading, fingerprints } = this.#read([resolve(file)], undefined);
    const { config, warnings } = reading;
    if (config === undefined) throw new ConfigError(reading.faults);
    this.#initial = config;
    this.#inForce = config;
    const added = namesOf(config.snapshot);
    this.#last = { at: this.#clock(), ok: true, reason: 'start', faults: [], warnings, added, removed: [] };
    this.#fingerprints = fingerprints;
    const times = { debounce: this.#debounce, poll: options.poll ?? 5000 };
    this.#files = new FileWatch(() => void this.reload('file changed'), times);
    this.#files.watch(fingerprints);
  }

  /** The snapshot in force: ask once per request and keep it. */
  get current(): Snapshot {
    return this.#inForce.snapshot;
  }

  /** The reference Service to start beside the gateway, as it was at the start. */
  get service(): ServiceSettings | undefined {
    return this.#initial.service;
  }

  /** The operators' listener, as it was at the start. */
  get operator(): OperatorSettings | undefined {
    return this.#initial.operator;
  }

  /** The newest result; the first is that of the start. */
  get lastReload(): ReloadResult {
    return this.#last;
  }

  /** Reloads that changed nothing because of faults. */
  get failures(): number {
    return this.#failures;
  }

  /** Reads the configuration now, changed or not, after any reload that is under way. Never rejects. */
  reload(reason: string): Promise<ReloadResult> {
    const result = this.#queue.then(() => this.#reload(reason));
    this.#queue = result;
    return result;
  }

  /** Hears every result from now on, after it has taken effect. A listener must not throw. Gives what ends that. */
  onReload(listener: (result: ReloadResult) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Stops watching; the configuration in force stays. */
  close(): void {
    this.#closed = true;
    this.#files.close();
  }

  async #reload(reason: string): Promise<ReloadResult> {
    const { reading, fingerprints } = await this.#readWhole();
    if (this.#closed) return this.#last;
    this.#last = this.#take(reading, reason);
    this.#fingerprints = fingerprints;
    this.#files.watch(fingerprints);
    for (const listener of this.#listeners) listener(this.#last);
    return this.#last;
  }

  /** Reads until nothing has changed in the meantime: half of the old files and half of the new make no configuration. */
  async #readWhole(): Promise<Reading> {
    for (let count = 1; ; count++) {
      const result = this.#read(this.#fingerprints.keys(), this.#inForce.keypairs);
      const isWhole = areSame(fingerprintsOf(result.fingerprints.keys()), result.fingerprints);
      if (isWhole || count === MOST_READINGS) return result;
      await pause(this.#debounce);
    }
  }

  /** Reads once; the fingerprints are those the files had before. `known` are files it will most likely read. */
  #read(known: Iterable<string>, keypairs: Keypairs | undefined): Reading {
    const before = fingerprintsOf(known);
    const reading = this.#judge(keypairs);
    const isNew = (source: string) => !before.has(source);
    if (reading.sources.some(isNew)) return this.#read([...before.keys(), ...reading.sources], keypairs);
    // A bad file may have lost the name of a file whose repair would mend it: go on watching what was watched.
    const files = reading.config === undefined ? [...before.keys()] : reading.sources;
    return { reading, fingerprints: new Map(files.map((file) => [file, before.get(file) ?? ''])) };
  }

  /** A defect of ours on some odd file must not end a gateway that has a sound configuration. */
  #judge(keypairs: Keypairs | undefined): ConfigReading {
    try {
      return readConfig(this.#file, this.#env, keypairs);
    } catch (error) {
      const message = `cannot be judged because of a defect of the gateway (${(error as Error).name})`;
      const faults = [{ file: this.#file, line: 0, column: 0, path: '', message }];
      return { sources: [resolve(this.#file)], faults, warnings: [], unreadable: true, config: undefined };
    }
  }

  /** Swaps a sound reading in. */
  #take({ config, faults, warnings }: ConfigReading, reason: string): ReloadResult {
    const result = { at: this.#clock(), reason, faults, added: [], removed: [] };
    if (config === undefined) {
      this.#failures++;
      return { ...result, ok: false, warnings };
    }
    const before = namesOf(this.current);
    const after = namesOf(config.snapshot);
    this.#inForce = { ...config, snapshot: keepFixedSettings(this.#initial.snapshot, config.snapshot) };
    return {
      ...result,
      ok: true,
      warnings: [...changedSettings(this.#initial.fixed, config.fixed), ...warnings],
      added: after.filter((name) => !before.includes(name)),
      removed: before.filter((name) => !after.includes(name)),
    };
  }
}

function namesOf({ tenants }: Snapshot): string[] {
  return tenants.map(({ name }) => name);
}
