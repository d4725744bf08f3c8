import type { Answer, Stream } from './answer.ts';
import type { Call } from './call.ts';
import { ServiceProblem } from './problem.ts';

/** `captured` are the decoded segments that stood where the pattern has a `:name`, in order. */
export type Handler = (call: Call, ...captured: string[]) => Answer | Stream | Promise<Answer>;

/** Path pattern → method → handler. HEAD follows GET. The first pattern that matches wins. */
export type Routes = readonly (readonly [pattern: string, handlers: Readonly<Record<string, Handler>>])[];

/** The methods of service-api.md §4, and HEAD, which HTTP adds to every GET. */
const METHODS: ReadonlySet<string> = new Set(['GET', 'HEAD', 'REPORT', 'POST', 'PUT', 'PATCH', 'DELETE']);

/** Finds the handler of a call and runs it. Throws `not-found`, `method-not-allowed`, `invalid-params`. */
export async function dispatch(routes: Routes, call: Call): Promise<Answer | Stream> {
  if (!METHODS.has(call.method)) throw notAllowed([...METHODS]);
  const segments = call.path.split('/');
  for (const [pattern, handlers] of routes) {
    const captured = match(pattern, segments);
    if (captured === undefined) continue;
    const handler = handlers[call.method === 'HEAD' ? 'GET' : call.method];
    if (handler === undefined) throw notAllowed(Object.keys(handlers));
    return handler(call, ...captured);
  }
  throw new ServiceProblem('not-found', 'There is nothing at this path.');
}

/** The captured segments, decoded; undefined when the pattern does not match. Throws `invalid-params`. */
export function match(pattern: string, segments: readonly string[]): string[] | undefined {
  const parts = pattern.split('/');
  if (parts.length !== segments.length) return undefined;
  const captured: string[] = [];
  for (const [index, part] of parts.entries()) {
    const segment = segments[index] ?? '';
    if (part.startsWith(':') && segment !== '') captured.push(segment);
    else if (part !== segment) return undefined;
  }
  return captured.map(decode);
}

function decode(segment: string): string {
  try {
    return decodeURIComponent(segment);
  } catch {
    throw new ServiceProblem('invalid-params', 'The path has malformed percent-encoding.');
  }
}

function notAllowed(methods: readonly string[]): ServiceProblem {
  const allowed = methods.includes('GET') && !methods.includes('HEAD') ? [...methods, 'HEAD'] : methods;
  return new ServiceProblem('method-not-allowed', 'The method is not supported here.', { Allow: allowed.join(', ') });
}
