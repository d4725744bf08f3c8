import { Collection } from './collection.ts';
import { ServiceProblem } from './problem.ts';

/** A virtual folder of one access key; it holds JSON documents by name. */
export interface Vfolder {
  readonly id: string;
  readonly accessKey: string;
  name: string;
  /** Epoch milliseconds. */
  readonly createdAt: number;
  /** File name → JSON text in UTF-8, as it was sent. */
  readonly files: Map<string, Buffer>;
}

const MAX_FILES = 100;
const MAX_FILE_NAME = 255;
/** Bytes that the files of one access key may take together. */
const MAX_BYTES = 64 * 1024 * 1024;

/** The vfolders of one Service, and how much is stored in them. */
export class Vfolders extends Collection<Vfolder> {
  readonly #bytes = new Map<string, number>();

  constructor() {
    super('vfolder');
  }

  /** Keeps a document; says whether it replaced one of that name. Throws `quota-exceeded`. */
  putFile(vfolder: Vfolder, name: string, document: Buffer): boolean {
    const replaced = vfolder.files.get(name);
    if (name.length > MAX_FILE_NAME || (replaced === undefined && vfolder.files.size >= MAX_FILES)) {
      const limits = `${MAX_FILES} files with names of at most ${MAX_FILE_NAME} characters`;
      throw new ServiceProblem('quota-exceeded', `A vfolder holds ${limits}.`);
    }
    this.#count(vfolder.accessKey, document.length - (replaced?.length ?? 0));
    vfolder.files.set(name, document);
    return replaced !== undefined;
  }

  removeVfolder(vfolder: Vfolder): void {
    this.remove(vfolder.accessKey, vfolder.id);
    let freed = 0;
    for (const document of vfolder.files.values()) freed += document.length;
    this.#count(vfolder.accessKey, -freed);
  }

  override removeScope(scope: string): void {
    super.removeScope(scope);
    this.#bytes.delete(scope);
  }

  #count(accessKey: string, change: number): void {
    const bytes = (this.#bytes.get(accessKey) ?? 0) + change;
    if (bytes > MAX_BYTES)
      throw new ServiceProblem('quota-exceeded', `The files of a keypair may take ${MAX_BYTES} bytes.`);
    this.#bytes.set(accessKey, bytes);
  }
}
