import type { z } from 'zod';
import { allowedKeys, didYouMean } from './allowed-keys.ts';
import type { YamlDocument } from './document.ts';
import { type Fault, formatPath, type PathSegment } from './fault.ts';
import { describeExpected, describeFound, standsForSecret, valueAt } from './found.ts';

export interface Validated<T> {
  /**
   * The parsed value. Also there when unknown keys are all that is wrong: parsed as if those were spelled right, or not
   * there, so that the rest of the file can still be judged.
   */
  readonly value: T | undefined;
  readonly faults: Fault[];
}

/** Validates what stands at `base` of a document: every fault of its shape, each with its path and line. */
export function validate<S extends z.ZodType>(
  document: YamlDocument,
  schema: S,
  base: readonly PathSegment[] = [],
): Validated<z.output<S>> {
  const value = valueAt(document.value, base);
  const result = schema.safeParse(value);
  if (result.success) return { value: result.data, faults: [] };
  const translator = new Translator(document, schema, base);
  const faults = result.error.issues.flatMap((issue) => translator.faultsOf(issue, []));
  const repaired = schema.safeParse(translator.repair(value));
  return { value: repaired.data, faults: translator.withoutConsequences(faults) };
}

type Issue = z.core.$ZodIssue;
type Path = readonly PathSegment[];

/** An unknown key and what it was probably meant to be. */
interface Misspelling {
  readonly parent: Path;
  readonly key: string;
  readonly meant: string | undefined;
}

/** Turns what zod reports into faults of the file. */
class Translator {
  readonly #document: YamlDocument;
  readonly #schema: z.ZodType;
  readonly #base: Path;
  readonly #misspellings: Misspelling[] = [];

  constructor(document: YamlDocument, schema: z.ZodType, base: Path) {
    this.#document = document;
    this.#schema = schema;
    this.#base = base;
  }

  faultsOf(issue: Issue, above: Path): Fault[] {
    const path = [...above, ...issue.path.map((segment) => (typeof segment === 'symbol' ? String(segment) : segment))];
    switch (issue.code) {
      case 'unrecognized_keys':
        return issue.keys.map((key) => this.#unknownKey(path, key));
      case 'invalid_key':
        return issue.issues.map(({ message }) => this.#fault(path, message));
      case 'invalid_union':
        // A union with words of its own says better what is wanted than any of its alternatives.
        return (
          (issue.message === 'Invalid input' ? this.#closest(issue.errors, path) : undefined) ?? [
            this.#wrongValue(issue, path),
          ]
        );
      default:
        return [this.#wrongValue(issue, path)];
    }
  }

  /** A key that is missing because it is misspelled needs no fault of its own. */
  withoutConsequences(faults: readonly Fault[]): Fault[] {
    const meant = this.#misspellings.flatMap(({ parent, meant }) => (meant === undefined ? [] : [[...parent, meant]]));
    const paths = new Set(meant.map((path) => formatPath([...this.#base, ...path])));
    return faults.filter(({ path, message }) => message !== MISSING || !paths.has(path));
  }

  /** A copy of `value` with the keys renamed to what they were meant to be; those nobody can guess are left out. */
  repair(value: unknown): unknown {
    const copy: unknown = structuredClone(value);
    for (const { parent, key, meant } of this.#misspellings) {
      const section = valueAt(copy, parent) as Record<string, unknown>;
      // What stands where a secret belongs is not acted upon by a guess: it may be the secret itself.
      const mayBeRenamed = meant !== undefined && !standsForSecret([...this.#base, ...parent]);
      if (mayBeRenamed && !Object.hasOwn(section, meant)) section[meant] = section[key];
      delete section[key];
    }
    return copy;
  }

  /** The faults of the alternative that got furthest into the value: it is the one that was meant. */
  #closest(alternatives: readonly (readonly Issue[])[], path: Path): Fault[] | undefined {
    const known = this.#misspellings.length;
    const candidates = alternatives
      .map((issues) => ({ issues, depth: Math.max(...issues.map(depthOf)) }))
      .filter(({ depth }) => depth > 0)
      .map(({ issues, depth }) => {
        this.#misspellings.length = known;
        const faults = this.withoutConsequences(issues.flatMap((issue) => this.faultsOf(issue, path)));
        return { depth, faults, misspellings: this.#misspellings.slice(known) };
      })
      .toSorted((a, b) => b.depth - a.depth || a.faults.length - b.faults.length);
    this.#misspellings.length = known;
    const [best] = candidates;
    if (best === undefined) return undefined;
    this.#misspellings.push(...best.misspellings);
    return best.faults;
  }

  #unknownKey(parent: Path, key: string): Fault {
    const allowed = allowedKeys(this.#schema, parent);
    const meant = didYouMean(key, allowed);
    this.#misspellings.push({ parent, key, meant });
    const details = {
      ...(allowed.length > 0 && { expected: `one of the keys ${allowed.join(', ')}` }),
      ...(meant !== undefined && { hint: `did you mean "${meant}"?` }),
    };
    // What stands as a key in the place of a secret may be the secret itself.
    const isHidden = standsForSecret([...this.#base, ...parent]);
    return this.#fault(isHidden ? parent : [...parent, key], 'unknown key', details);
  }

  #wrongValue(issue: Issue, path: Path): Fault {
    const value = valueAt(this.#document.value, [...this.#base, ...path]);
    const expected = describeExpected(issue);
    const message = expected === undefined ? issue.message : `expected ${expected}`;
    if (value === undefined) return this.#fault(path, MISSING, expected === undefined ? {} : { expected });
    const found = describeFound(value, [...this.#base, ...path], issue);
    const meant =
      issue.code === 'invalid_value' && typeof value === 'string'
        ? didYouMean(value, issue.values.map(String))
        : undefined;
    return this.#fault(path, message, {
      ...(found !== undefined && { found }),
      ...(expected !== undefined && { expected }),
      ...(meant !== undefined && { hint: `did you mean "${meant}"?` }),
    });
  }

  #fault(path: Path, message: string, details = {}): Fault {
    return this.#document.fault([...this.#base, ...path], message, details);
  }
}

const MISSING = 'missing';

/** How far into the value an alternative got; 0: the value is not even of its type. */
function depthOf(issue: Issue): number {
  return issue.path.length * 2 + (issue.code === 'invalid_type' ? 0 : 1);
}
