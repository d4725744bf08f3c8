import { parse, stringify } from 'yaml';

/** One YAML document with others laid over it: mappings are merged, anything else is replaced. */
export function mergeYaml(base: string, ...overlays: readonly string[]): string {
  return stringify(overlays.map((text) => parse(text) as unknown).reduce(merge, parse(base) as unknown));
}

function merge(base: unknown, overlay: unknown): unknown {
  if (!isMapping(base) || !isMapping(overlay)) return overlay;
  const merged = { ...base };
  for (const [key, value] of Object.entries(overlay)) merged[key] = merge(base[key], value);
  return merged;
}

function isMapping(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
