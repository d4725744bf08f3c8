/** Colours for text on a terminal. */
export interface Style {
  readonly bold: (text: string) => string;
  readonly dim: (text: string) => string;
  readonly good: (text: string) => string;
  readonly warning: (text: string) => string;
  readonly bad: (text: string) => string;
}

type Environment = Readonly<Record<string, string | undefined>>;

/**
 * The style of one stream: colours on a terminal only, and none where NO_COLOR is set (no-color.org) or the terminal is
 * dumb. FORCE_COLOR, unless empty or 0, colours a pipe as well, for CI systems that show colours.
 */
export function styleOf(stream: NodeJS.WritableStream, env: Environment): Style {
  const [bold, dim, green, yellow, red] = (isColoured(stream, env) ? [1, 2, 32, 33, 31] : []).map(paint);
  const plain = (text: string) => text;
  return { bold: bold ?? plain, dim: dim ?? plain, good: green ?? plain, warning: yellow ?? plain, bad: red ?? plain };
}

export function isTerminal(stream: NodeJS.WritableStream): boolean {
  return 'isTTY' in stream && stream.isTTY === true;
}

/** Columns of a terminal; 100 of anything else, a width that reads well in logs. */
export function columnsOf(stream: NodeJS.WritableStream): number {
  const { columns } = stream as { columns?: unknown };
  return isTerminal(stream) && typeof columns === 'number' && columns >= 40 ? columns : 100;
}

function isColoured(stream: NodeJS.WritableStream, env: Environment): boolean {
  if (env['NO_COLOR']) return false;
  if (env['FORCE_COLOR'] && env['FORCE_COLOR'] !== '0') return true;
  return isTerminal(stream) && env['TERM'] !== 'dumb';
}

function paint(code: number): (text: string) => string {
  return (text) => `\u001b[${code}m${text}\u001b[0m`;
}
