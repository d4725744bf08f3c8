import { Secret } from '../secret.ts';
import { DIALECTS } from '../signing/dialect.ts';
import type { Upstream } from '../tenant.ts';
import { bare } from './http.ts';
import type { RoleKeypair } from './keypairs.ts';
import type { Recipe } from './recipe.ts';
import type { FindingCode } from './report.ts';

/** One other way to sign, and what it would mean were it accepted. */
export interface Variant {
  readonly recipe: Recipe;
  readonly code: FindingCode;
  readonly says: string;
  readonly hint: string;
}

/** What variants are made from. */
export interface Circumstances {
  readonly upstream: Upstream;
  /** What is being signed with. */
  readonly signer: RoleKeypair;
  /** All of the tenant. */
  readonly keypairs: readonly RoleKeypair[];
  /** Of the endpoint's name, and of its certificate. */
  readonly addresses: readonly string[];
  readonly certificateNames: readonly string[];
}

/** More hosts than this are not tried. */
const MAX_HOSTS = 10;

/** The ways an upstream commonly differs from its configuration, likeliest first. */
export function variantsOf(recipe: Recipe, circumstances: Circumstances): Variant[] {
  const hosts = hostVariants(recipe, circumstances);
  const dialects = dialectVariants(recipe);
  const both = dialects.flatMap((dialect) =>
    hostVariants(dialect.recipe, circumstances)
      .filter(({ recipe: { hostSent, hostSigned } }) => hostSent === hostSigned)
      .map((host) => ({ ...host, says: `${dialect.says} ${host.says}`, hint: `${dialect.hint} ${host.hint}` })),
  );
  return [...secretVariants(recipe, circumstances), ...hosts, ...dialects, ...both];
}

/** A secret that picked up something on its way here, or belongs to another role. It is signed with, never sent. */
function secretVariants(recipe: Recipe, { signer, keypairs }: Circumstances): Variant[] {
  const given = recipe.secretKey.reveal();
  const variants: Variant[] = [];
  const add = (secret: string, says: string, hint: string) => {
    if (
      secret === given ||
      secret === '' ||
      variants.some(({ recipe: { secretKey } }) => secretKey.reveal() === secret)
    )
      return;
    variants.push({ recipe: { ...recipe, secretKey: new Secret(secret) }, code: 'wrong-secret', says, hint });
  };
  add(
    given.trim(),
    'The secret key has white space around it, without which it is accepted.',
    `Take it out of where ${signer.place}.secretKey is read from.`,
  );
  add(
    given.trim().replace(/^(["'])(.*)\1$/, '$2'),
    'The secret key has quotation marks around it, without which it is accepted.',
    `Take them out of where ${signer.place}.secretKey is read from.`,
  );
  for (const other of keypairs) {
    add(
      other.keypair.secretKey.reveal(),
      `The secret key of ${other.label} is accepted with the access key of ${signer.label}: the two are mixed up.`,
      `Check ${signer.place}.secretKey.`,
    );
  }
  return variants;
}

function hostVariants(recipe: Recipe, { upstream, addresses, certificateNames }: Circumstances): Variant[] {
  const candidates = hostCandidates(recipe, upstream, addresses, certificateNames);
  const own = recipe.endpoint.slice(recipe.endpoint.indexOf('//') + 2);
  const expected = (host: string, what: string) =>
    `The upstream expects signatures over the host ${host} (${what}), not ${recipe.hostSigned}.`;
  return [
    ...candidates.map(([host, what]) => ({
      recipe: { ...recipe, hostSent: host, hostSigned: host },
      code: 'wrong-host' as const,
      says: expected(host, what),
      hint: host === own ? 'Take upstream.signedHost out.' : `Set upstream.signedHost: ${host}.`,
    })),
    ...candidates.map(([host, what]) => ({
      recipe: { ...recipe, hostSigned: host },
      code: 'wrong-host' as const,
      says: `${expected(host, what)} As Host it takes ${recipe.hostSent} only.`,
      hint: 'The gateway signs the Host it sends: have the upstream route and verify by one and the same name.',
    })),
  ];
}

/** Host values that are likely in place of the one that was signed, each with what it is. */
function hostCandidates(
  { endpoint, hostSigned }: Recipe,
  { endpoints, signedHost }: Upstream,
  addresses: readonly string[],
  certificateNames: readonly string[],
): (readonly [host: string, what: string])[] {
  const own = new URL(endpoint);
  const port = own.port || (own.protocol === 'https:' ? '443' : '80');
  const found = new Map<string, string>();
  const add = (name: string, what: string) => {
    const host = name.includes(':') && !name.startsWith('[') ? `[${name}]` : name;
    for (const [candidate, how] of [
      [host, `${what}, without a port`],
      [`${host}:${port}`, `${what}, with its port`],
    ] as const) {
      if (candidate !== hostSigned && !found.has(candidate)) found.set(candidate, how);
    }
  };
  if (signedHost !== undefined) {
    add(bare(own.hostname), 'the endpoint’s own');
    add(bare(new URL(`http://${signedHost}`).hostname), 'upstream.signedHost');
  } else {
    add(bare(own.hostname), 'the endpoint’s own');
  }
  for (const other of endpoints) add(bare(new URL(other).hostname), 'another endpoint’s');
  for (const name of certificateNames) if (!name.startsWith('*')) add(name, 'a name in its certificate');
  for (const address of addresses) add(address, 'an address of the endpoint');
  add('localhost', 'its own view of itself');
  add('127.0.0.1', 'its own view of itself');
  return [...found].slice(0, MAX_HOSTS);
}

function dialectVariants(recipe: Recipe): Variant[] {
  return Object.entries(DIALECTS)
    .filter(
      ([, { scheme, headerPrefix }]) =>
        scheme !== recipe.dialect.scheme || headerPrefix !== recipe.dialect.headerPrefix,
    )
    .map(([name, dialect]) => ({
      recipe: { ...recipe, dialect },
      code: 'wrong-dialect',
      says: `The upstream speaks the dialect ${name} (${dialect.scheme}, ${dialect.headerPrefix}…), not ${recipe.dialect.scheme}, ${recipe.dialect.headerPrefix}….`,
      hint: `Set upstream.dialect: ${name}.`,
    }));
}
