import type { BreakerState } from '../forward/breaker.ts';
import type { EndpointState } from '../forward/endpoint.ts';
import type { ClockState } from '../forward/upstream-clock.ts';
import type { Phase } from '../process/lifecycle.ts';
import type { Tenant } from '../tenant.ts';
import type { OperatorParts } from './parts.ts';
import type { Probe } from './probe.ts';

/** Best first. */
const BREAKERS: readonly BreakerState[] = ['closed', 'half-open', 'open'];
const CLOCKS: readonly ClockState[] = ['ok', 'off', 'alarm'];

/** How long an answer vouches for an endpoint, in milliseconds. */
const VOUCHES = 10_000;

/** The answer of `/readyz`. It names tenants but no address: it is read without the token. */
export interface Readiness {
  readonly status: 'ready' | 'not-ready';
  readonly checks: {
    /** `draining` and `starting` are not ready. */
    readonly process: Phase;
    readonly sessionStore: 'up' | 'down';
    /** `failed`: the last reload had faults, so that an older configuration is in force; the gateway serves by it. */
    readonly configuration: 'ok' | 'failed';
    /** `some`: a tenant has no endpoint that can be reached. `down`: none has. */
    readonly upstreams: 'up' | 'some' | 'down';
  };
  readonly tenants: Readonly<Record<string, TenantReadiness>>;
}

interface TenantReadiness {
  readonly status: 'ready' | 'not-ready';
  readonly upstream: 'up' | 'down';
  /**
   * Of the endpoint that is best off. An open one leaves the tenant ready: here as elsewhere it is the upstream that fails,
   * and without requests nobody would learn that it is well again.
   */
  readonly breaker: BreakerState;
  /** Of the endpoint whose clock is worst. */
  readonly clock: ClockState;
}

/**
 * Whether traffic should be sent here. One tenant's dead upstream is no reason to take the gateway from the others, so
 * upstreams count only when no tenant has one.
 */
export async function readinessOf(parts: OperatorParts, probe: Probe): Promise<Readiness> {
  const { tenants } = parts.snapshot();
  const phase = parts.phase();
  const store = parts.store.ready ? 'up' : 'down';
  const reachable = await Promise.all(tenants.map((tenant) => isReachable(tenant, parts, probe)));
  const upstreams = reachable.every(Boolean) ? 'up' : reachable.some(Boolean) ? 'some' : 'down';
  const serves = phase === 'ready' && store === 'up';
  return {
    status: serves && upstreams !== 'down' ? 'ready' : 'not-ready',
    checks: {
      process: phase,
      sessionStore: store,
      configuration: parts.reloads?.last?.ok === false ? 'failed' : 'ok',
      upstreams,
    },
    tenants: Object.fromEntries(
      tenants.map((tenant, i) => [
        tenant.name,
        {
          status: serves && reachable[i] ? 'ready' : 'not-ready',
          upstream: reachable[i] ? 'up' : 'down',
          ...conditionOf(tenant, parts),
        },
      ]),
    ),
  };
}

/** An endpoint that has not answered lately is asked whether it takes a connection: without traffic nobody would learn. */
export async function isUp(state: EndpointState, parts: Pick<OperatorParts, 'clock'>, probe: Probe): Promise<boolean> {
  const { answeredAt, failure } = state;
  const answeredLast = answeredAt !== undefined && answeredAt >= (failure?.at ?? 0);
  if (answeredLast && parts.clock() - answeredAt < VOUCHES) return true;
  return probe.reaches(state.origin);
}

function conditionOf({ upstream }: Tenant, { endpoints, clock }: OperatorParts) {
  const states = upstream.endpoints.map((origin) => endpoints.describe(origin, clock()));
  const breakers = states.map(({ breaker }) => BREAKERS.indexOf(breaker.state));
  const clocks = states.map((state) => CLOCKS.indexOf(state.clock.state));
  return {
    breaker: BREAKERS[Math.min(...breakers)] as BreakerState,
    clock: CLOCKS[Math.max(...clocks)] as ClockState,
  };
}

async function isReachable(tenant: Tenant, parts: OperatorParts, probe: Probe): Promise<boolean> {
  const now = parts.clock();
  const states = tenant.upstream.endpoints.map((origin) => parts.endpoints.describe(origin, now));
  const up = await Promise.all(states.map((state) => isUp(state, parts, probe)));
  return up.some(Boolean);
}
