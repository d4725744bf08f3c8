/** What a `traceparent` says (W3C Trace Context §3.2), and the `tracestate` that came with it. */
export interface TraceContext {
  /** 32 lowercase hex digits, not all zero. */
  readonly traceId: string;
  /** 16 lowercase hex digits, not all zero: the sender's span. */
  readonly spanId: string;
  readonly sampled: boolean;
  readonly state: string | undefined;
}

/** Version 00 and nothing else: what a later version may append is not understood here. */
const TRACEPARENT = /^00-(?!0{32})(?<traceId>[0-9a-f]{32})-(?!0{16})(?<spanId>[0-9a-f]{16})-(?<flags>[0-9a-f]{2})$/;

const MAX_STATE = 512;
const MAX_MEMBERS = 32;
/** §3.3.1.3: a simple key, or `tenant@system`; a value is printable ASCII without `,` and `=` that ends in no space. */
const MEMBER =
  /^(?<key>[a-z][a-z0-9_*/-]{0,255}|[a-z0-9][a-z0-9_*/-]{0,240}@[a-z][a-z0-9_*/-]{0,13})=[ -+\--<>-~]{0,255}[!-+\--<>-~]$/;

/**
 * The trace context of a request's headers; undefined where `traceparent` is malformed, absent or there twice (node:http
 * joins the two). A malformed `tracestate` is dropped alone: the trace itself is still the one (§3.3.1).
 */
export function readTraceContext(traceparent: unknown, tracestate: unknown): TraceContext | undefined {
  if (typeof traceparent !== 'string') return undefined;
  const { traceId, spanId, flags } = TRACEPARENT.exec(traceparent)?.groups ?? {};
  if (traceId === undefined || spanId === undefined || flags === undefined) return undefined;
  return { traceId, spanId, sampled: (Number.parseInt(flags, 16) & 1) === 1, state: readState(tracestate) };
}

export function formatTraceparent(traceId: string, spanId: string, sampled: boolean): string {
  return `00-${traceId}-${spanId}-${sampled ? '01' : '00'}`;
}

function readState(value: unknown): string | undefined {
  if (typeof value !== 'string' || value.length > MAX_STATE) return undefined;
  const members = value
    .split(',')
    .map((member) => member.replace(/^[ \t]+|[ \t]+$/g, ''))
    .filter((member) => member !== '');
  const keys = new Set(members.map((member) => MEMBER.exec(member)?.groups?.['key']));
  const isSound = members.length <= MAX_MEMBERS && keys.size === members.length && !keys.has(undefined);
  return isSound && members.length > 0 ? members.join(',') : undefined;
}
