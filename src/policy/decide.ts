import type { Admission, Inbound, Permit } from '../exchange.ts';
import type { KeypairRing } from '../keypair-ring.ts';
import { Problem } from '../problem.ts';
import type { Session } from '../session/session.ts';
import type { Route, Tenant } from '../tenant.ts';
import { bodyFormat, requireContentType } from './content-type.ts';
import { judgeDocument } from './graphql.ts';
import { readGraphqlDocument, requireGraphqlPost } from './graphql-request.ts';
import { judgeMentions, mentionsInBody, mentionsInQuery, searchFor } from './owner-key.ts';
import { OwnerKeySearch } from './owner-key-search.ts';

/**
 * Everything that can be judged before the body: role and keypair, declared length, content type, the query, the head of a
 * GraphQL request. Throws Problem `forbidden`, `body-too-large`, `unsupported-media-type`, `owner-access-key`,
 * `graphql-invalid` or `keypair-unavailable`.
 */
export function admit(inbound: Inbound, session: Session, route: Route): Admission {
  const { role, ring } = actingRole(inbound.tenant, session, route);
  const { body } = inbound;
  if (body.kind === 'sized' && body.length > route.maxBody) {
    throw new Problem('body-too-large', `This route takes bodies of at most ${route.maxBody} bytes.`, { close: true });
  }
  const hasBody = body.kind !== 'none';
  requireContentType(inbound, route, hasBody);
  judgeMentions(mentionsInQuery(inbound.query), route.ownerAccessKey.has(role));
  if (route.graphql !== undefined) requireGraphqlPost(inbound);
  const inspectsBody = hasBody && (route.graphql !== undefined || bodyFormat(inbound) !== 'opaque');
  const readsBody = hasBody && (inspectsBody || inbound.tenant.upstream.dialect.bodyHash === 'body');
  const isRepeatable = (readsBody || !hasBody) && inbound.headers.upgrade === undefined;
  const keypair = ring.pick(inbound.receivedAt, isRepeatable);
  if (keypair === undefined) throw new Problem('keypair-unavailable', 'No keypair of your role is valid now.');
  return { inbound, session, route, role, keypair, ring, inspectsBody, readsBody };
}

/**
 * A search to feed the body to as it arrives: where it finds nothing, `decide` does without the body. Undefined where the
 * body is not looked into, or only as a whole.
 */
export function searchBody({ inbound, route, inspectsBody }: Admission): OwnerKeySearch | undefined {
  return inspectsBody && route.graphql === undefined ? searchFor(bodyFormat(inbound)) : undefined;
}

/**
 * The rest, with the body in memory or with what `searchBody` made of it (undefined for a bodiless or an uninspected
 * body). Throws Problem `invalid-body`, `owner-access-key`, `graphql-invalid` or `graphql-operation`.
 */
export function decide(admission: Admission, body: Buffer | OwnerKeySearch | undefined): Permit {
  if (admission.inspectsBody) {
    if (body === undefined) throw new TypeError('a body that has to be inspected was not read');
    if (!(body instanceof OwnerKeySearch)) inspect(admission, body);
    else if (body.found || admission.route.graphql !== undefined) throw new TypeError('this body is needed whole');
  }
  return admission as Permit;
}

function inspect({ inbound, route, role }: Admission, body: Buffer): void {
  const inBody = mentionsInBody(body, bodyFormat(inbound));
  if (inBody > 0) judgeMentions(inBody + mentionsInQuery(inbound.query), route.ownerAccessKey.has(role));
  if (route.graphql !== undefined) judgeDocument(readGraphqlDocument(body), route.graphql, role);
}

/** The first of the session's roles that the route lets in and that has keypairs. */
function actingRole(tenant: Tenant, session: Session, route: Route): { role: string; ring: KeypairRing } {
  for (const role of session.roles) {
    const ring = route.roles.has(role) ? tenant.keypairs.get(role) : undefined;
    if (ring !== undefined) return { role, ring };
  }
  throw new Problem('forbidden', 'Your role may not use this route.');
}
