import type { Session } from './session.ts';

/** Bumped when the fields change in a way an older gateway would misread; records of another version are no sessions. */
const VERSION = 1;

/** A session as it is kept outside the process. Its key is not part of it: the store says under which key it was found. */
export function encodeSession(session: Session): string {
  return JSON.stringify({
    version: VERSION,
    tenant: session.tenant,
    subject: session.subject,
    roles: session.roles,
    method: session.method,
    createdAt: session.createdAt,
    seenAt: session.seenAt,
    idle: session.lifetime.idle,
    absolute: session.lifetime.absolute,
  });
}

/** The session in a record; undefined when the text is not one, in whatever way: what cannot be read grants nothing. */
export function decodeSession(key: string, text: string): Session | undefined {
  const record = parseObject(text);
  if (record === undefined || record['version'] !== VERSION) return undefined;
  const { tenant, subject, roles, method, createdAt, seenAt, idle, absolute } = record;
  if (typeof tenant !== 'string' || typeof method !== 'string') return undefined;
  if (subject !== undefined && typeof subject !== 'string') return undefined;
  if (!Array.isArray(roles) || !roles.every((role) => typeof role === 'string')) return undefined;
  if (!isInstant(createdAt) || !isInstant(seenAt) || !isInstant(idle) || !isInstant(absolute)) return undefined;
  return { key, tenant, subject, roles, method, createdAt, seenAt, lifetime: { idle, absolute } };
}

function parseObject(text: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : undefined;
  } catch {
    return undefined;
  }
}

function isInstant(value: unknown): value is number {
  return typeof value === 'number' && Number.isFinite(value);
}
