/** One thing wrong (or risky) in a configuration file. */
export interface Fault {
  /** The file it is in: the configuration itself, or a users file it names. */
  readonly file: string;
  /** 1-based; 0 where the fault has no place in the text, e.g. the file cannot be read. */
  readonly line: number;
  readonly column: number;
  /** `tenants.acme.routes[1].roles[0]`; empty for the document as a whole. */
  readonly path: string;
  readonly message: string;
}

/** Thrown with every fault of a configuration at once. */
export class ConfigError extends Error {
  override readonly name = 'ConfigError';
  readonly faults: readonly Fault[];

  constructor(faults: readonly Fault[]) {
    super(faults.map(formatFault).join('\n'));
    this.faults = faults;
  }
}

/** `config.yaml:12:7: tenants.acme.origins[0]: expected an origin …` */
export function formatFault(fault: Fault): string {
  const place = fault.line > 0 ? `${fault.file}:${fault.line}:${fault.column}` : fault.file;
  return `${place}: ${fault.path === '' ? '' : `${fault.path}: `}${fault.message}`;
}

export type PathSegment = string | number;

export function formatPath(segments: readonly PathSegment[]): string {
  return segments.reduce<string>(
    (text, segment) =>
      typeof segment === 'number' ? `${text}[${segment}]` : text === '' ? segment : `${text}.${segment}`,
    '',
  );
}
