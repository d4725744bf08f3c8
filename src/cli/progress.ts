import type { Terminal } from './command.ts';
import { columnsOf, isTerminal } from './style.ts';

/** One line on stderr that says what is going on. */
export interface Progress {
  show(doing: string): void;
  /** Clears the line; call before anything else is written. */
  done(): void;
}

const CLEAR = '\r\u001b[K';

/** Progress for whoever watches: on a terminal only, so that a log or a pipe never sees it. */
export function progressOn({ stderr }: Pick<Terminal, 'stderr'>): Progress {
  if (!isTerminal(stderr)) return { show: () => undefined, done: () => undefined };
  return {
    show: (doing) => void stderr.write(`${CLEAR}${`… ${doing}`.slice(0, columnsOf(stderr) - 1)}`),
    done: () => void stderr.write(CLEAR),
  };
}
