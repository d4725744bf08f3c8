import type { Tenant } from '../tenant.ts';
import { bodyHashStep, contentTypeStep } from './body-rules.ts';
import { clockStep, type Skew, skewOf, type Witness } from './clock.ts';
import { type Connection, hostOf, openConnection } from './connection.ts';
import { type Diagnosis, diagnose, unexplained } from './diagnose.ts';
import { type Attempt, attemptWith, reportOn } from './examine-keypair.ts';
import { ask } from './http.ts';
import { keypairsOf, type RoleKeypair } from './keypairs.ts';
import { troubleOf } from './network-error.ts';
import { askUnsigned, type Recipe } from './recipe.ts';
import type { EndpointReport, Step, TenantReport } from './report.ts';

/** Longest wait for one answer, in milliseconds; an operator is waiting too. */
const PATIENCE = 15_000;

export interface Examination {
  readonly tenants: readonly Tenant[];
  /** Clocks that may settle which of two is wrong, beside those of the other endpoints. */
  readonly witnesses: readonly Witness[];
  readonly now: () => number;
  /** Told what is being done, a few words at a time. */
  readonly onProgress: (doing: string) => void;
}

/** An endpoint after the first round. */
interface Visited {
  readonly tenant: Tenant;
  readonly endpoint: string;
  readonly connection: Connection;
  readonly unsigned: { readonly status: number; readonly skew: Skew | undefined } | Step | undefined;
}

/**
 * Examines every endpoint and keypair of the tenants. All clocks are read first, so that each can be a witness for or
 * against another; then everything is signed.
 */
export async function examine(examination: Examination): Promise<TenantReport[]> {
  const { tenants, now, onProgress } = examination;
  const visited: Visited[] = [];
  for (const tenant of tenants) {
    for (const endpoint of tenant.upstream.endpoints) {
      onProgress(`${tenant.name}: connecting to ${endpoint}`);
      visited.push(await visit(tenant, endpoint, now));
    }
  }
  const reports = new Map<Tenant, EndpointReport[]>(tenants.map((tenant) => [tenant, []]));
  for (const one of visited) {
    const report = await examineEndpoint(one, [...examination.witnesses, ...witnessesFor(one, visited)], examination);
    reports.get(one.tenant)?.push(report);
  }
  return [...reports].map(([{ name }, endpoints]) => ({ tenant: name, endpoints }));
}

async function visit(tenant: Tenant, endpoint: string, now: () => number): Promise<Visited> {
  const connection = await openConnection(tenant.upstream, endpoint, now);
  if (!connection.isOpen) return { tenant, endpoint, connection, unsigned: undefined };
  try {
    const reply = await askUnsigned(recipeOf(tenant, endpoint), now);
    return { tenant, endpoint, connection, unsigned: { status: reply.status, skew: skewOf(reply) } };
  } catch (error) {
    const { code: _, ...words } = troubleOf(error);
    return { tenant, endpoint, connection, unsigned: { name: 'clock', status: 'failed', code: 'no-answer', ...words } };
  }
}

/** Clocks of other machines: two names may still be one machine, so the same name never counts. */
function witnessesFor(one: Visited, visited: readonly Visited[]): Witness[] {
  const machines = new Map<string, Witness>();
  for (const { endpoint, unsigned } of visited) {
    const name = new URL(endpoint).hostname;
    if (name === new URL(one.endpoint).hostname || unsigned === undefined || !('skew' in unsigned)) continue;
    if (unsigned.skew !== undefined) machines.set(name, { name, skew: unsigned.skew });
  }
  return [...machines.values()];
}

/** Reads the clock of any HTTP server. Throws the network's error; undefined when the answer has no Date. */
export async function readClock(url: string, now: () => number): Promise<Witness | undefined> {
  const { origin, host, pathname } = new URL(url);
  const question = {
    endpoint: origin,
    method: 'HEAD',
    path: pathname,
    host,
    headers: ['Host', host],
    timeout: PATIENCE,
  };
  const skew = skewOf(await ask(question, now));
  return skew && { name: host, skew };
}

async function examineEndpoint(
  { tenant, endpoint, connection, unsigned }: Visited,
  witnesses: readonly Witness[],
  { now, onProgress }: Examination,
): Promise<EndpointReport> {
  if (unsigned === undefined) return { endpoint, steps: connection.steps, keypairs: [] };
  if (!('skew' in unsigned)) return { endpoint, steps: [...connection.steps, unsigned], keypairs: [] };
  const { skew } = unsigned;
  const steps: Step[] = [...connection.steps, clockStep(skew, witnesses)];
  if (unsigned.status >= 200 && unsigned.status < 300) steps.push(UNSIGNED_ACCEPTED);

  const all = keypairsOf(tenant, now());
  const attempts: Attempt[] = [];
  for (const signer of all) {
    onProgress(`${tenant.name}: signing for ${signer.label} at ${endpoint}`);
    const { accessKey, secretKey } = signer.keypair;
    attempts.push(await attemptWith({ ...recipeOf(tenant, endpoint), accessKey, secretKey }, signer, now));
  }
  const diagnoses = await diagnoseAll(attempts, all, { tenant, connection, skew }, { now, onProgress });
  const working = attempts.flatMap((attempt) => {
    const worked = attempt.verdict?.kind === 'accepted' ? attempt.recipe : diagnoses.get(attempt)?.worked;
    return worked === undefined ? [] : [{ signer: attempt.signer, worked }];
  });
  const keypairs = attempts.map((attempt) => {
    const { signer, verdict } = attempt;
    const others = working.map((one) => one.signer);
    const explanation =
      verdict?.kind === 'refused'
        ? (diagnoses.get(attempt)?.explanation ?? unexplained(signer, verdict.status, others, skew))
        : undefined;
    return reportOn(attempt, explanation, tenant.upstream.signedHost !== undefined);
  });
  const [first] = working;
  if (first !== undefined) {
    onProgress(`${tenant.name}: signing with a body at ${endpoint}`);
    steps.push(await bodyHashStep(first.worked, now), await contentTypeStep(first.worked, now));
  }
  return { endpoint, steps, ...(skew && { skewMs: Math.round(skew.ms) }), keypairs };
}

/** The proved causes among the refused attempts. */
async function diagnoseAll(
  attempts: readonly Attempt[],
  keypairs: readonly RoleKeypair[],
  { tenant, connection, skew }: Pick<Visited, 'tenant' | 'connection'> & { readonly skew: Skew | undefined },
  { now, onProgress }: Pick<Examination, 'now' | 'onProgress'>,
): Promise<ReadonlyMap<Attempt, Diagnosis>> {
  const { addresses, certificateNames } = connection;
  const diagnoses = new Map<Attempt, Diagnosis>();
  for (const attempt of attempts) {
    const { signer, recipe, verdict } = attempt;
    if (verdict?.kind !== 'refused' || signer.state === 'retired') continue;
    onProgress(`${tenant.name}: finding out why ${signer.label} is refused`);
    const circumstances = { upstream: tenant.upstream, signer, keypairs, addresses, certificateNames };
    const diagnosis = await diagnose({ recipe, says: verdict.says, skew, circumstances }, now);
    if (diagnosis !== undefined) diagnoses.set(attempt, diagnosis);
  }
  return diagnoses;
}

const UNSIGNED_ACCEPTED: Step = {
  name: 'signature',
  status: 'warning',
  code: 'signature-not-required',
  says: 'GET /v2 is answered without a signature too, so that it is accepted with one proves little.',
  hint: 'Is this the Service itself, and does it verify signatures?',
};

function recipeOf(tenant: Tenant, endpoint: string): Omit<Recipe, 'accessKey' | 'secretKey'> {
  const { upstream } = tenant;
  const host = hostOf(upstream, endpoint);
  const timeout = Math.min(PATIENCE, upstream.timeouts.connect + upstream.timeouts.headers);
  const { dialect, version, tls } = upstream;
  return { endpoint, tls, dialect, version, hostSent: host, hostSigned: host, clockOffset: 0, timeout };
}
