import { z } from 'zod';
import type { PathSegment } from './fault.ts';

/** What of a JSON Schema tells which keys a place may have. */
interface Shape {
  readonly properties?: Readonly<Record<string, Shape>>;
  readonly additionalProperties?: Shape | boolean;
  readonly items?: Shape;
  readonly anyOf?: readonly Shape[];
}

/** The names of the keys that `schema` knows at `path`; empty where any name will do or none. */
export function allowedKeys(schema: z.ZodType, path: readonly PathSegment[]): string[] {
  let shapes: readonly Shape[] = [z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any' }) as Shape];
  for (const segment of path) shapes = shapes.flatMap(alternatives).flatMap((shape) => inside(shape, segment));
  return [...new Set(shapes.flatMap(alternatives).flatMap(({ properties }) => Object.keys(properties ?? {})))];
}

function alternatives(shape: Shape): readonly Shape[] {
  return shape.anyOf === undefined ? [shape] : shape.anyOf.flatMap(alternatives);
}

function inside({ properties, additionalProperties, items }: Shape, segment: PathSegment): readonly Shape[] {
  const others = typeof additionalProperties === 'object' ? additionalProperties : undefined;
  const shape =
    typeof segment === 'number' ? items : Object.hasOwn(properties ?? {}, segment) ? properties?.[segment] : others;
  return shape === undefined ? [] : [shape];
}

/**
 * The one among `names` that was most likely meant: the nearest in edit distance, if no more than a third of it would
 * have to change. Case and separators count for nothing, so `owner_access_key` finds `ownerAccessKey`.
 */
export function didYouMean(word: string, names: readonly string[]): string | undefined {
  const plain = (text: string) => text.toLowerCase().replace(/[-_. ]/g, '');
  const [best] = names
    .map((name) => ({ name, distance: editDistance(plain(word), plain(name)) }))
    .toSorted((a, b) => a.distance - b.distance);
  return best !== undefined && best.distance <= Math.max(1, Math.floor(best.name.length / 3)) ? best.name : undefined;
}

/** Insertions, deletions, substitutions and swaps of neighbours that turn one word into another (optimal string alignment). */
export function editDistance(a: string, b: string): number {
  let beforeLast: number[] = [];
  let last = Array.from({ length: b.length + 1 }, (_, j) => j);
  for (let i = 1; i <= a.length; i++) {
    const row = [i];
    for (let j = 1; j <= b.length; j++) {
      const substitution = (last[j - 1] ?? 0) + (a[i - 1] === b[j - 1] ? 0 : 1);
      let cost = Math.min(substitution, (last[j] ?? 0) + 1, (row[j - 1] ?? 0) + 1);
      const isSwap = i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1];
      if (isSwap) cost = Math.min(cost, (beforeLast[j - 2] ?? 0) + 1);
      row.push(cost);
    }
    beforeLast = last;
    last = row;
  }
  return last[b.length] ?? 0;
}
