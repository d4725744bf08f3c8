import { Collection } from './collection.ts';

/** Why a kernel's streams end; the reason of its `ended` signal. */
export type EndReason = 'terminated' | 'shutdown';

/** A computing session of one access key, running from its creation until it is deleted. */
export interface Kernel {
  readonly id: string;
  readonly accessKey: string;
  /** Language and version, `python:3.12`. */
  readonly lang: string;
  /** Epoch milliseconds. */
  readonly createdAt: number;
  /** Aborted with an EndReason when the kernel or the server ends: its event streams and sockets end with it. */
  readonly ended: AbortController;
}

/** The kernels of one Service, and the end of their live streams. */
export class Kernels extends Collection<Kernel> {
  constructor() {
    super('kernel');
  }

  end(kernel: Kernel): void {
    this.remove(kernel.accessKey, kernel.id);
    kernel.ended.abort('terminated' satisfies EndReason);
  }

  override removeScope(scope: string): void {
    for (const kernel of this.list(scope)) this.end(kernel);
    super.removeScope(scope);
  }

  /** Ends every live stream; the kernels themselves stay. */
  shutdown(): void {
    for (const scope of this.scopes()) {
      for (const kernel of this.list(scope)) kernel.ended.abort('shutdown' satisfies EndReason);
    }
  }
}
