import type { KeypairState } from '../keypair-ring.ts';

/** One thing the doctor looked at. Anything but `ok` and `skipped` is a finding; only `failed` ones fail the run. */
export interface Step {
  readonly name: StepName;
  readonly status: 'ok' | 'warning' | 'failed' | 'skipped';
  /** What was seen, in one or two sentences; never a secret, a signing key or a signature. */
  readonly says: string;
  /** Stable name of a finding, `clock-skew`; undefined where there is none. */
  readonly code?: FindingCode;
  /** What to do about it. */
  readonly hint?: string;
}

export type StepName =
  | 'name'
  | 'connection'
  | 'tls'
  | 'clock'
  | 'signature'
  | 'version'
  | 'quota'
  | 'body hash'
  | 'content type';

export type FindingCode =
  | 'name-unknown'
  | 'connection-failed'
  | 'tls-failed'
  | 'certificate-untrusted'
  | 'certificate-expires-soon'
  | 'no-answer'
  | 'clock-skew'
  | 'wrong-host'
  | 'wrong-dialect'
  | 'wrong-secret'
  | 'wrong-body-hash'
  | 'wrong-content-type'
  | 'forbidden'
  | 'unsteady'
  | 'signature-not-required'
  | 'not-the-service'
  | 'upstream-failed'
  | 'version-unsupported'
  | 'version-newer'
  | 'quota-used-up'
  | 'quota-low'
  | 'rate-headers-missing';

/** One line of the string to sign, or one value it was made with. */
export interface ExplainedLine {
  readonly name: string;
  readonly value: string;
  /** Where the value comes from, `upstream.version` of the configuration. */
  readonly from: string;
}

export interface Quota {
  readonly limit: number;
  readonly remaining: number;
  /** In the upstream's own unit (service-api.md §8, gaps). */
  readonly reset: number;
}

export interface KeypairReport {
  readonly role: string;
  readonly accessKey: string;
  readonly state: KeypairState;
  /** The role's next request would be signed with it. A keypair that would not has no `failed` step for a refusal. */
  readonly current: boolean;
  readonly steps: readonly Step[];
  readonly version?: string;
  readonly quota?: Quota;
  /** Of the request that was refused: the seven lines of service-api.md §5, then what the signing key was made of. */
  readonly stringToSign?: readonly ExplainedLine[];
}

export interface EndpointReport {
  readonly endpoint: string;
  readonly steps: readonly Step[];
  /** Milliseconds the upstream's clock is ahead of this machine's; negative when behind. */
  readonly skewMs?: number;
  readonly keypairs: readonly KeypairReport[];
}

export interface TenantReport {
  readonly tenant: string;
  readonly endpoints: readonly EndpointReport[];
}

/** Every step of a report that is a finding, with the place it belongs to. */
export function findingsOf(tenants: readonly TenantReport[]) {
  return tenants.flatMap(({ tenant, endpoints }) =>
    endpoints.flatMap(({ endpoint, steps, keypairs }) => [
      ...steps.filter(isFinding).map((step) => ({ tenant, endpoint, ...step })),
      ...keypairs.flatMap(({ role, accessKey, steps: own }) =>
        own.filter(isFinding).map((step) => ({ tenant, endpoint, role, accessKey, ...step })),
      ),
    ]),
  );
}

function isFinding({ status }: Step): boolean {
  return status === 'failed' || status === 'warning';
}
