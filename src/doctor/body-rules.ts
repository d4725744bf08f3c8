import type { Dialect } from '../signing/dialect.ts';
import { askSigned, type Recipe, type Request } from './recipe.ts';
import type { Step } from './report.ts';

/** REPORT only reads, and the version endpoint has none: what matters is whether the signature is refused first. */
const REPORT: Request = { method: 'REPORT', contentType: 'application/json', body: '{}' };
const WITH_PARAMETER: Request = { method: 'GET', contentType: 'application/json; charset=utf-8', body: '' };

/** Whether the upstream signs bodies as configured. `recipe` is one whose plain GET was accepted. */
export function bodyHashStep(recipe: Recipe, now: () => number): Promise<Step> {
  const { bodyHash } = recipe.dialect;
  const [mine, other] = bodyHash === 'body' ? BODY_WORDS : BODY_WORDS.toReversed();
  return compare('body hash', recipe, REPORT, { body: '{"other":1}' }, otherwise(recipe.dialect, 'bodyHash'), now, {
    ok: `The upstream hashes ${mine}, as configured.`,
    wrong: `The upstream hashes ${other}, but the dialect says ${mine}: every request with a body is refused.`,
    code: 'wrong-body-hash',
    hint: `Set bodyHash: ${bodyHash === 'body' ? 'empty' : 'body'} in upstream.dialect.`,
  });
}

const BODY_WORDS = ['the body as sent', 'no body (the empty string, always)'] as const;

/** Whether the upstream signs the parameters of a content type as configured. */
export function contentTypeStep(recipe: Recipe, now: () => number): Promise<Step> {
  const { contentType } = recipe.dialect;
  const [mine, other] = contentType === 'full' ? TYPE_WORDS : TYPE_WORDS.toReversed();
  const pretended = { contentType: 'text/plain' };
  return compare('content type', recipe, WITH_PARAMETER, pretended, otherwise(recipe.dialect, 'contentType'), now, {
    ok: `The upstream signs ${mine}, as configured.`,
    wrong: `The upstream signs ${other}, but the dialect says ${mine}: requests with “; charset=…” are refused.`,
    code: 'wrong-content-type',
    hint: `Set contentType: ${contentType === 'full' ? 'mime' : 'full'} in upstream.dialect.`,
  });
}

const TYPE_WORDS = ['the whole Content-Type', 'the media type without its parameters'] as const;

function otherwise(dialect: Dialect, field: 'bodyHash' | 'contentType'): Dialect {
  return field === 'bodyHash'
    ? { ...dialect, bodyHash: dialect.bodyHash === 'body' ? 'empty' : 'body' }
    : { ...dialect, contentType: dialect.contentType === 'full' ? 'mime' : 'full' };
}

/**
 * Sends the request signed as configured, signed the other way, and signed over something else altogether, which any
 * upstream refuses. Of the first two, the one answered like the third was refused; no status has to be guessed.
 */
async function compare(
  name: 'body hash' | 'content type',
  recipe: Recipe,
  request: Request,
  pretends: NonNullable<Request['pretends']>,
  otherDialect: Dialect,
  now: () => number,
  words: { ok: string; wrong: string; code: NonNullable<Step['code']>; hint: string },
): Promise<Step> {
  const strict: Dialect = { ...recipe.dialect, bodyHash: 'body', contentType: 'full' };
  const statusOf = async (dialect: Dialect, asked: Request) =>
    (await askSigned({ ...recipe, dialect }, asked, now)).reply.status;
  let statuses: [configured: number, other: number, wrong: number];
  try {
    statuses = [
      await statusOf(recipe.dialect, request),
      await statusOf(otherDialect, request),
      await statusOf(strict, { ...request, pretends }),
    ];
  } catch {
    return { name, status: 'skipped', says: `The upstream broke off a ${request.method}, so it cannot be told.` };
  }
  const [configured, other, wrong] = statuses;
  if (other === wrong && configured !== wrong) return { name, status: 'ok', says: words.ok };
  if (configured === wrong && other !== wrong) {
    return { name, status: 'failed', code: words.code, says: words.wrong, hint: words.hint };
  }
  const says = `It cannot be told: ${request.method} ${statuses.join(', ')}, signed as configured, otherwise, and wrongly.`;
  return { name, status: 'skipped', says };
}
