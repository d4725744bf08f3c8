import type { IncomingHttpHeaders } from 'node:http';
import type { KeypairRecord } from './keyring.ts';
import { ServiceProblem } from './problem.ts';
import type { ApiVersion } from './version.ts';

/** Who signed the request, and the API version it speaks. */
export interface Caller {
  readonly signer: KeypairRecord;
  readonly version: ApiVersion;
}

/** A verified request. */
export interface Call {
  readonly caller: Caller;
  readonly method: string;
  /** `http://<Host as received>`: what links in answers are built on. */
  readonly origin: string;
  /** As received, undecoded. */
  readonly path: string;
  readonly query: URLSearchParams;
  readonly headers: IncomingHttpHeaders;
  readonly body: Buffer;
}

/** Splits a target at its first `?`. */
export function splitTarget(target: string): { path: string; query: URLSearchParams } {
  const mark = target.indexOf('?');
  if (mark === -1) return { path: target, query: new URLSearchParams() };
  return { path: target.slice(0, mark), query: new URLSearchParams(target.slice(mark + 1)) };
}

/** The JSON value of the body; undefined when there is no body. Throws `invalid-params`. */
export function jsonOf(call: Call): unknown {
  if (call.body.length === 0) return undefined;
  try {
    return JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(call.body));
  } catch {
    throw new ServiceProblem('invalid-params', 'The body is not valid JSON.');
  }
}

export type Params = Readonly<Record<string, unknown>>;

/** The request parameters in the body (service-api.md §4, Body): a JSON object, empty when there is no body. */
export function paramsOf(call: Call): Params {
  const value = jsonOf(call);
  if (value === undefined) return {};
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw new ServiceProblem('invalid-params', 'The body must be a JSON object.');
  }
  return value as Params;
}

/** A required text parameter of 1 to `max` characters. */
export function requireText(params: Params, name: string, max: number): string {
  const value = params[name];
  if (typeof value !== 'string' || value === '' || value.length > max) {
    throw new ServiceProblem('invalid-params', `The parameter ${name} must be a text of 1 to ${max} characters.`);
  }
  return value;
}
