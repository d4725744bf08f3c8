/** One thing wrong (or risky) in a configuration file. */
export interface Fault {
  /** The file it is in: the configuration itself, or a users file it names. */
  readonly file: string;
  /** 1-based; 0 where the fault has no place in the text, e.g. the file cannot be read. */
  readonly line: number;
  readonly column: number;
  /** `tenants.acme.routes[1].roles[0]`; empty for the document as a whole. */
  readonly path: string;
  /** What is wrong, without the value itself. */
  readonly message: string;
  /** The value there, as JSON or as its kind; left out where it may be a secret. */
  readonly found?: string;
  /** What would be right there. */
  readonly expected?: string;
  /** What to do about it. */
  readonly hint?: string;
}

export type FaultDetails = Pick<Fault, 'found' | 'expected' | 'hint'>;

/** Thrown with every fault of a configuration at once. */
export class ConfigError extends Error {
  override readonly name = 'ConfigError';
  readonly faults: readonly Fault[];

  constructor(faults: readonly Fault[]) {
    super(faults.map(formatFault).join('\n'));
    this.faults = faults;
  }
}

/** `config.yaml:12:7`, or the file alone where the fault has no place in the text. */
export function placeOf(fault: Fault): string {
  return fault.line > 0 ? `${fault.file}:${fault.line}:${fault.column}` : fault.file;
}

/** One line: `config.yaml:12:7: tenants.acme.origins[0]: expected an origin …, found "acme" (hint)` */
export function formatFault(fault: Fault): string {
  const { path, message, found, hint } = fault;
  const value = found === undefined ? '' : `, found ${found}`;
  return `${placeOf(fault)}: ${path === '' ? '' : `${path}: `}${message}${value}${hint === undefined ? '' : ` (${hint})`}`;
}

export type PathSegment = string | number;

export function formatPath(segments: readonly PathSegment[]): string {
  return segments.reduce<string>(
    (text, segment) =>
      typeof segment === 'number' ? `${text}[${segment}]` : text === '' ? segment : `${text}.${segment}`,
    '',
  );
}
