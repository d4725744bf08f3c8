import { isOurs, type Module, packageOf } from './modules.ts';

/** Folders and single files of src, lowest first. A part imports from the rows above its own, and from itself. */
const LAYERS: readonly (readonly string[])[] = [
  ['problem.ts', 'secret.ts', 'tls.ts', 'tenant.ts', 'keypair-ring.ts', 'exchange.ts', 'snapshot.ts'],
  ['observe', 'process', 'http1'],
  ['signing', 'session', 'policy'],
  ['login', 'forward'],
  ['edge', 'operator'],
  ['gateway-contract.ts'],
  ['gateway.ts', 'config', 'service'],
  ['doctor', 'smoke', 'workers'],
  ['cli'],
  ['main.ts'],
];

/** Nouns that live with their rules: their types may be named anywhere. */
const NOUN_TYPES = ['session/session.ts', 'signing/dialect.ts'];

/** The upstream is no part of the gateway: it shares the signature and the nouns, and nothing else. */
const SERVICE_MAY_IMPORT = ['service', 'signing', 'problem.ts', 'secret.ts', 'tenant.ts'];

const IO =
  /^(?:node:(?:fs|net|https?|http2|tls|dns|dgram|child_process|cluster|worker_threads)(?:\/.*)?|ioredis|http-proxy-3|pino|@opentelemetry\/api|hono|@hono\/.*)$/;

/** Rules that must be testable, and reviewable, without a world around them. */
const PURE = /^(?:signing\/|policy\/|session\/(?!.*(?:store|redis))|forward\/retry\.ts$|keypair-ring\.ts$)/;

/** Package → files that may know it. Every other file depends on our own contract in front of it. */
const IMPORTERS: Readonly<Record<string, RegExp>> = {
  hono: /^(?:edge\/|operator\/|gateway-contract\.ts$)/,
  '@hono/node-server': /^(?:edge\/|operator\/|gateway\.ts$)/,
  'prom-client': /^operator\//,
  'http-proxy-3': /^forward\//,
  ioredis: /^(?:session|login)\/[^/]*redis[^/]*\.ts$/,
  pino: /^observe\//,
  '@opentelemetry/api': /^observe\//,
  yaml: /^config\//,
  '@node-rs/argon2': /^login\//,
};

/** A violation is a line that says who does what. */
export type Rule = (modules: readonly Module[]) => string[];

export const importsPointDownward: Rule = (modules) =>
  eachImport(modules, (file, { target, typeOnly }) => {
    const [from, to] = [partOf(file), partOf(target)];
    if (from === to || (typeOnly && NOUN_TYPES.includes(target))) return false;
    // Nouns at the root name one another.
    return layerOf(from) === 0 ? layerOf(to) !== 0 : layerOf(to) >= layerOf(from);
  });

export const everyPartHasALayer: Rule = (modules) =>
  modules.filter(({ file }) => layerOf(partOf(file)) === -1).map(({ file }) => `${file} is in no layer`);

export const serviceStandsApart: Rule = (modules) =>
  eachImport(modules, (file, { target }) => partOf(file) === 'service' && !SERVICE_MAY_IMPORT.includes(partOf(target)));

export const rulesImportNoIo: Rule = (modules) =>
  modules.flatMap(({ file, imports }) =>
    imports.filter(({ target }) => PURE.test(file) && IO.test(target)).map(({ target }) => `${file} imports ${target}`),
  );

export const packagesHaveTheirPlace: Rule = (modules) =>
  eachPackage(modules, (file, name) => IMPORTERS[name]?.test(file) === false);

/** What only development installs is not there when the gateway runs. */
export function packagesAreInstalled(dependencies: readonly string[]): Rule {
  return (modules) => eachPackage(modules, (_file, name) => !name.startsWith('node:') && !dependencies.includes(name));
}

/** Types may go round: they are gone when the files are run. */
export const thereIsNoCycle: Rule = (modules) => {
  const byFile = new Map(modules.map((module) => [module.file, module]));
  const done = new Set<string>();
  const cycles: string[] = [];
  const visit = (file: string, path: readonly string[]): void => {
    if (path.includes(file)) {
      cycles.push([...path.slice(path.indexOf(file)), file].join(' → '));
      return;
    }
    if (done.has(file)) return;
    for (const { target, typeOnly } of byFile.get(file)?.imports ?? []) {
      if (!typeOnly) visit(target, [...path, file]);
    }
    done.add(file);
  };
  for (const { file } of modules) visit(file, []);
  return cycles;
};

export const everyFileIsUsed: Rule = (modules) => {
  const byFile = new Map(modules.map((module) => [module.file, module]));
  const reached = new Set<string>();
  const reach = (file: string): void => {
    if (reached.has(file)) return;
    reached.add(file);
    for (const { target } of byFile.get(file)?.imports ?? []) reach(target);
  };
  reach('main.ts');
  return modules.filter(({ file }) => !reached.has(file)).map(({ file }) => `${file} is not reached from main.ts`);
};

export function filesAreShort({ longest, median, map }: { longest: number; median: number; map: number }): Rule {
  return (modules) => {
    const lengths = modules.map(({ lines }) => lines).toSorted((a, b) => a - b);
    const middle = lengths[Math.floor(lengths.length / 2)] ?? 0;
    return [
      ...modules
        .filter(({ file, lines }) => lines > (file === 'gateway.ts' ? map : longest))
        .map(({ file, lines }) => `${file} has ${lines} lines`),
      ...(middle > median ? [`the median file has ${middle} lines`] : []),
    ];
  };
}

/** Folders named for nothing in particular collect everything. */
export function foldersHaveNames(folders: readonly string[]): string[] {
  return folders.filter((folder) => /(?:^|\/)(?:utils?|helpers?|common|lib|misc|shared)$/i.test(folder));
}

function eachImport(modules: readonly Module[], violates: (file: string, it: Module['imports'][number]) => boolean) {
  return modules.flatMap(({ file, imports }) =>
    imports.filter((it) => isOurs(it) && violates(file, it)).map(({ target }) => `${file} imports ${target}`),
  );
}

function eachPackage(modules: readonly Module[], violates: (file: string, name: string) => boolean) {
  return modules.flatMap(({ file, imports }) =>
    imports
      .filter((it) => !isOurs(it))
      .map(packageOf)
      .filter((name) => violates(file, name))
      .map((name) => `${file} imports ${name}`),
  );
}

function partOf(file: string): string {
  return file.split('/', 1)[0] ?? file;
}

function layerOf(part: string): number {
  return LAYERS.findIndex((parts) => parts.includes(part));
}
