import { METHODS } from '../exchange.ts';
import type { Arrival } from './intake.ts';
import { corsHeaders } from './refusal.ts';

/** Request headers a cross-origin page of the tenant's may always send. */
const HEADERS = ['Content-Type', 'X-Countersign', 'If-Match', 'If-None-Match', 'Range', 'Last-Event-ID'];

/** How long a browser may remember the answer, in seconds. */
const MAX_AGE = 600;

/**
 * The answer to OPTIONS, given here and never asked upstream: to the tenant's own origins what they may send (Fetch
 * §3.2.4), to others no more than the methods.
 */
export function preflightHeaders(arrival: Arrival): Record<string, string> {
  const { tenant, request } = arrival;
  const methods = METHODS.join(', ');
  const cors = corsHeaders(tenant, request.headers.origin);
  if (cors['Access-Control-Allow-Origin'] === undefined) return { Allow: `${methods}, OPTIONS` };
  const { dialect, passHeaders } = tenant.upstream;
  return {
    ...cors,
    'Access-Control-Allow-Methods': methods,
    'Access-Control-Allow-Headers': [...HEADERS, `${dialect.headerPrefix}Client-Token`, ...passHeaders].join(', '),
    'Access-Control-Max-Age': String(MAX_AGE),
    Vary: 'Origin, Access-Control-Request-Method, Access-Control-Request-Headers',
  };
}
