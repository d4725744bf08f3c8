import { type FSWatcher, realpathSync, statSync, watch } from 'node:fs';
import { dirname } from 'node:path';

/** Milliseconds. */
export interface FileWatchTimes {
  /** Changes that follow one another faster than this are one. */
  readonly debounce: number;
  /** How often to look at the files themselves, for file systems and links that report no events. */
  readonly poll: number;
}

/** A stream of events that never pauses is looked into after this many debounces all the same. */
const MOST_PATIENT = 10;

interface Folder {
  readonly identity: string;
  readonly watcher: FSWatcher;
}

/**
 * Watches files by their folders, so that a file that is replaced, appears or is reached through a link that is swapped
 * (`..data` of a ConfigMap) is seen as well as one that is written to. Calls `onChange` when what the paths lead to has
 * changed since `watch` was told what it was.
 */
export class FileWatch {
  readonly #onChange: () => void;
  readonly #times: FileWatchTimes;
  readonly #folders = new Map<string, Folder>();
  readonly #poll: NodeJS.Timeout;
  #known: Fingerprints = new Map();
  #timer: NodeJS.Timeout | undefined;
  #firstEvent = 0;

  constructor(onChange: () => void, times: FileWatchTimes) {
    this.#onChange = onChange;
    this.#times = times;
    this.#poll = setInterval(() => {
      this.#aim();
      this.#look();
    }, times.poll).unref();
  }

  /** From now on watches these files, which had these fingerprints when they were read. */
  watch(known: Fingerprints): void {
    this.#known = known;
    this.#aim();
    // What changed between the reading and now had no event.
    this.#look();
  }

  close(): void {
    clearInterval(this.#poll);
    clearTimeout(this.#timer);
    for (const { watcher } of this.#folders.values()) watcher.close();
    this.#folders.clear();
  }

  /** Watches the folders the files are in, by name and by what links lead to; a folder that was replaced is watched anew. */
  #aim(): void {
    const wanted = new Map<string, string>();
    for (const file of this.#known.keys()) {
      for (const folder of new Set([dirname(file), dirname(realPath(file) ?? file)])) {
        const identity = identityOf(folder);
        if (identity !== undefined) wanted.set(folder, identity);
      }
    }
    for (const [path, { identity, watcher }] of this.#folders) {
      if (wanted.get(path) === identity) continue;
      watcher.close();
      this.#folders.delete(path);
    }
    for (const [path, identity] of wanted) {
      if (!this.#folders.has(path)) this.#open(path, identity);
    }
  }

  #open(path: string, identity: string): void {
    try {
      const watcher = watch(path, { persistent: false }, () => this.#soon());
      // A folder that is removed, or a watch the system takes back: the next poll watches it anew.
      watcher.on('error', () => {
        watcher.close();
        this.#folders.delete(path);
      });
      this.#folders.set(path, { identity, watcher });
    } catch {
      // No watch to be had (their number is limited): polling has to do.
    }
  }

  #soon(): void {
    const now = performance.now();
    if (this.#timer === undefined) this.#firstEvent = now;
    else if (now - this.#firstEvent > this.#times.debounce * MOST_PATIENT) return;
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => {
      this.#timer = undefined;
      this.#look();
    }, this.#times.debounce);
    this.#timer.unref();
  }

  #look(): void {
    const found = fingerprintsOf(this.#known.keys());
    if (areSame(found, this.#known)) return;
    this.#known = found;
    this.#onChange();
  }
}

/** Path → what it leads to; differs after any write to, replacement or disappearance of the file. */
export type Fingerprints = ReadonlyMap<string, string>;

export function fingerprintsOf(files: Iterable<string>): Fingerprints {
  return new Map(Array.from(files, (file) => [file, `${realPath(file) ?? 'none'} ${stampOf(file)}`]));
}

export function areSame(a: Fingerprints, b: Fingerprints): boolean {
  return a.size === b.size && [...a].every(([file, fingerprint]) => b.get(file) === fingerprint);
}

function realPath(file: string): string | undefined {
  try {
    return realpathSync(file);
  } catch {
    return undefined;
  }
}

function stampOf(file: string): string {
  const stats = statSync(file, { bigint: true, throwIfNoEntry: false });
  return stats === undefined ? 'none' : `${stats.dev} ${stats.ino} ${stats.size} ${stats.mtimeNs} ${stats.ctimeNs}`;
}

function identityOf(folder: string): string | undefined {
  const stats = statSync(folder, { throwIfNoEntry: false });
  return stats?.isDirectory() ? `${stats.dev} ${stats.ino}` : undefined;
}
