import type { Audit } from '../observe/audit.ts';
import type { RequestEvent } from '../observe/request-event.ts';
import { Problem, type ProblemCode } from '../problem.ts';
import type { Session } from '../session/session.ts';
import type { Tenant } from '../tenant.ts';

/**
 * The refusals that say something about the caller. Not here: what fails on our side or the upstream's, a missing page,
 * and failed logins, which are events of their own.
 */
const REFUSALS: ReadonlySet<ProblemCode> = new Set<ProblemCode>([
  'ambiguous-target',
  'malformed-request',
  'duplicate-cookie',
  'graphql-invalid',
  'unauthorized',
  'csrf',
  'forbidden',
  'owner-access-key',
  'graphql-operation',
  'unknown-session',
  'method-not-allowed',
  'unsupported-media-type',
  'unknown-tenant',
  'rate-limit-exceeded',
]);

const FAILED_LOGINS: ReadonlySet<ProblemCode> = new Set<ProblemCode>(['invalid-credentials', 'too-many-attempts']);

/** Puts into the audit log what happens at the edge. */
export class AuditTrail {
  readonly #audit: Audit;

  constructor(audit: Audit) {
    this.#audit = audit;
  }

  refusal(request: RequestEvent, { code, detail }: Problem): void {
    if (!REFUSALS.has(code)) return;
    const { tenant, subject, client, requestId, session, kind, method, path, role } = request;
    this.#audit.record({
      event: 'refusal',
      tenant,
      subject,
      client,
      session,
      requestId,
      code,
      detail: { kind, method, path, role, reason: detail },
    });
  }

  login(request: RequestEvent, session: Session): void {
    this.#audit.record({
      event: 'login',
      ...of(request, session),
      session: session.key,
      detail: { method: session.method, roles: [...session.roles] },
    });
  }

  /** What a login threw; only a refusal of the credentials themselves is a failed login. */
  loginFailed(request: RequestEvent, tenant: Tenant, body: Readonly<Record<string, unknown>>, thrown: unknown): void {
    if (!(thrown instanceof Problem) || !FAILED_LOGINS.has(thrown.code)) return;
    const { method, username } = body;
    const isKnown = typeof username === 'string' && tenant.login.password?.users.has(username) === true;
    this.#audit.record({
      event: 'login-failed',
      tenant: tenant.name,
      subject: isKnown ? username : undefined,
      client: request.client,
      requestId: request.requestId,
      code: thrown.code,
      detail: { method: String(method) },
    });
  }

  logout(request: RequestEvent, session: Session): void {
    this.#audit.record({ event: 'logout', ...of(request, session), session: session.key });
  }

  /** One session was ended: by its user from another, or by a login of the same browser, which replaced it. */
  revoked(request: RequestEvent, session: Session, by: 'user' | 'login'): void {
    this.#audit.record({
      event: 'revocation',
      ...of(request, session),
      session: session.key,
      detail: { by, scope: 'one', count: 1 },
    });
  }

  revokedOthers(request: RequestEvent, session: Session, count: number): void {
    this.#audit.record({
      event: 'revocation',
      ...of(request, session),
      detail: { by: 'user', scope: 'others', count },
    });
  }
}

function of({ client, requestId }: RequestEvent, { tenant, subject }: Session) {
  return { tenant, subject, client, requestId };
}
