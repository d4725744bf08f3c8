import type { RequestEvent } from './request-event.ts';

/** Text that JSON takes as it stands. */
const PLAIN = /^[\x20\x21\x23-\x5b\x5d-\x7e]*$/;

/**
 * The log line of one request, its final newline included: the same JSON a general serializer would write, laid out by
 * hand because this is done once for every request. `origin`: members that say which process it is from, as JSON text that
 * begins with a comma, or nothing.
 */
export function requestLine(event: RequestEvent, level: string, origin = ''): string {
  const { trace, requestId, session } = event;
  let line = `{"level":"${level}","time":"${timestamp(Date.now())}"${origin},"requestId":"${requestId}"`;
  if (trace.traceId !== requestId) line += `,"traceId":"${trace.traceId}"`;
  line += `,"kind":"${event.kind}"`;
  if (event.tenant !== undefined) line += `,"tenant":${quoted(event.tenant)}`;
  line += `,"client":${quoted(event.client)}`;
  if (session !== undefined) line += `,"session":"${session.slice(0, 8)}"`;
  if (event.role !== undefined) line += `,"role":${quoted(event.role)}`;
  line += `,"method":${quoted(event.method)}`;
  if (event.path !== undefined) line += `,"path":${quoted(event.path)}`;
  if (event.route !== undefined) line += `,"route":${quoted(event.route)}`;
  line += `,"status":${event.status}`;
  if (event.code !== undefined) line += `,"code":"${event.code}"`;
  if (event.reason !== undefined) line += `,"reason":${quoted(event.reason)}`;
  if (event.endpoint !== undefined) line += `,"endpoint":${quoted(event.endpoint)}`;
  if (event.attempts > 1) line += `,"attempts":${event.attempts}`;
  if (event.aborted) line += ',"aborted":true';
  line += `,"ms":${tenths(performance.now() - event.startedMono)}`;
  if (event.upstreamMs !== undefined) line += `,"upstreamMs":${tenths(event.upstreamMs)}`;
  return `${line},"bytesIn":${event.bytesIn},"bytesOut":${event.bytesOut},"msg":"request"}\n`;
}

let second = Number.NaN;
let upToSeconds = '';

/** ISO 8601 with milliseconds. Its text up to the seconds is made once a second. */
export function timestamp(epochMs: number): string {
  const now = Math.floor(epochMs / 1000);
  if (now !== second) {
    second = now;
    upToSeconds = new Date(now * 1000).toISOString().slice(0, 20);
  }
  const ms = Math.floor(epochMs - now * 1000);
  return `${upToSeconds}${ms < 10 ? '00' : ms < 100 ? '0' : ''}${ms}Z`;
}

function quoted(text: string): string {
  return PLAIN.test(text) ? `"${text}"` : JSON.stringify(text);
}

function tenths(ms: number): number {
  return Math.round(ms * 10) / 10;
}
