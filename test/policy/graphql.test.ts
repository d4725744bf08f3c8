import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { judgeDocument } from '../../src/policy/graphql.ts';
import type { GraphqlRule } from '../../src/tenant.ts';
import { problemOf, refusal } from './fixture.ts';

const rule: GraphqlRule = {
  fields: new Map([
    ['visitor', new Set(['groups', 'group'])],
    ['admin', new Set(['groups', 'group', 'create_group', 'modify_group', 'delete_group'])],
    ['explorer', new Set(['__schema', '__type'])],
  ]),
  maxDepth: 5,
  maxTokens: 500,
};

const judge = (source: string, role = 'visitor', of = rule) => judgeDocument(source, of, role);

describe('root fields', () => {
  it.each([
    '{ groups { name } }',
    'query Q($n: String!) { group(name: $n) { ...F } } fragment F on Group { name description }',
    '{ __typename groups { name } }',
    '{ list: groups { name } other: group(name: "x") { name } }',
    '{ groups { create_group: name } }',
    '{ group(name: "} mutation { create_group }") { name } } # create_group',
    '{ group(name: """a block string""") { name } }',
  ])('that the role may use pass: %s', (source) => {
    expect(() => judge(source)).not.toThrow();
  });

  it('are those of the role that acts', () => {
    const source = 'mutation { create_group(name: "a", props: {domain_name: "d"}) { ok msg } }';
    expect(() => judge(source, 'admin')).not.toThrow();
    expect(problemOf(() => judge(source))).toMatchObject({
      code: 'graphql-operation',
      detail: expect.stringContaining('create_group'),
    });
    expect(refusal(() => judge('{ groups { name } }', 'nobody'))).toBe('graphql-operation');
  });

  it.each([
    // An alias renames the answer, not the field.
    'mutation { groups: create_group(name: "a") { ok } }',
    // Fragments put fields at the root without their being written there.
    'mutation { ... on Mutation { create_group(name: "a") { ok } } }',
    'mutation { ... { ... @include(if: true) { create_group(name: "a") { ok } } } }',
    'mutation { ...A } fragment A on Mutation { ...B } fragment B on Mutation { create_group(name: "a") { ok } }',
    'query { groups { name } ...A } fragment A on Query { ... { x: delete_group(name: "a") { ok } } }',
    // The gateway does not know the variables' worth upstream: what may be skipped may be executed.
    'mutation($no: Boolean = false) { create_group(name: "a") @include(if: $no) { ok } }',
    'mutation { create_group(name: "a") @skip(if: true) { ok } }',
    // Allowed fields beside it do not cover it.
    '{ groups { name } group(name: "a") { name } create_group(name: "a") { ok } }',
    // Commas, comments and a byte order mark are white space to GraphQL.
    '\ufeff,,mutation,#{ groups }\r{,create_group(name:"a"){ok}}',
    '{ Groups { name } }',
  ])('that the role may not use do not slip past: %s', (source) => {
    expect(refusal(() => judge(source))).toBe('graphql-operation');
  });

  // The schema tells an attacker every mutation there is.
  it('of introspection pass only where they are listed', () => {
    for (const source of ['{ __schema { types { name } } }', '{ __type(name: "Group") { name } }']) {
      expect(refusal(() => judge(source))).toBe('graphql-operation');
      expect(() => judge(source, 'explorer')).not.toThrow();
    }
  });

  it('are named in the refusal, but not at any length', () => {
    expect(problemOf(() => judge(`{ ${'x'.repeat(10_000)} }`)).detail.length).toBeLessThan(150);
  });
});

describe('operations', () => {
  // operationName picks one of several: the one that was judged need not be the one that runs.
  it.each([
    'query A { groups { name } } mutation B { create_group(name: "a") { ok } }',
    'query A { groups { name } } query B { groups { name } }',
    '{ groups { name } } { groups { name } }',
  ])('are one per document: %s', (source) => {
    expect(refusal(() => judge(source, 'admin'))).toBe('graphql-operation');
  });

  it('are no subscriptions', () => {
    expect(refusal(() => judge('subscription { groups { name } }', 'admin'))).toBe('graphql-operation');
  });

  it.each([
    'fragment A on Query { groups }',
    'type Query { groups: Int }',
    '{ groups } extend type Query { x: Int }',
    '',
    '   # nothing',
  ])('have to be there, and nothing but fragments beside them: %j', (source) => {
    expect(refusal(() => judge(source))).toBe('graphql-invalid');
  });
});

describe('fragments', () => {
  it.each([
    '{ ...A } fragment A on Query { ...A }',
    '{ ...A } fragment A on Query { groups { name } ...B } fragment B on Query { ...A }',
    '{ groups { ...A } } fragment A on Group { parent { ...A } }',
  ])('that contain themselves are refused: %s', (source) => {
    expect(refusal(() => judge(source))).toBe('graphql-invalid');
  });

  it('that are not defined are refused', () => {
    expect(refusal(() => judge('{ ...A }'))).toBe('graphql-invalid');
    expect(refusal(() => judge('{ groups { ...A } }'))).toBe('graphql-invalid');
  });

  // Which of two fragments of one name counts is for each server to say, unless it validates.
  it.each([
    '{ ...A } fragment A on Query { create_group } fragment A on Query { groups }',
    '{ ...A } fragment A on Query { groups } fragment A on Query { create_group }',
  ])('of one name are refused: %s', (source) => {
    expect(refusal(() => judge(source))).toBe('graphql-invalid');
  });
});

describe('limits', () => {
  const nested = (depth: number) => `{ groups ${'{ a '.repeat(depth - 1)}${'}'.repeat(depth - 1)} }`;

  it('hold the depth', () => {
    expect(() => judge(nested(5))).not.toThrow();
    expect(refusal(() => judge(nested(6)))).toBe('graphql-invalid');
  });

  it('count the depth through fragments', () => {
    const fragments = 'fragment A on G { a { ...B } } fragment B on G { ... { b { c { d } } } }';
    expect(() => judge(`{ groups { ...B } } ${fragments}`)).not.toThrow();
    expect(refusal(() => judge(`{ groups { a { ...A } } } ${fragments}`))).toBe('graphql-invalid');
  });

  // Each fragment spreads the next one twice: 2^60 fields for whoever expands them.
  it('do not fall for fragments that double', () => {
    const bomb = Array.from({ length: 60 }, (_, i) => `fragment f${i} on Q { ...f${i + 1} ...f${i + 1} }`).join(' ');
    const wide = { ...rule, maxTokens: 10_000 };
    expect(() => judge(`{ ...f0 } ${bomb} fragment f60 on Q { groups { name } }`, 'visitor', wide)).not.toThrow();
    expect(refusal(() => judge(`{ ...f0 } ${bomb} fragment f60 on Q { create_group }`, 'visitor', wide))).toBe(
      'graphql-operation',
    );
  });

  it('hold the tokens, comments apart', () => {
    expect(refusal(() => judge(`{ ${'groups '.repeat(600)} }`))).toBe('graphql-invalid');
    expect(refusal(() => judge(`{ groups } ${'#\n'.repeat(600)}`))).toBe('graphql-invalid');
  });

  it.each([
    ['selections', (n: number) => `${'{a'.repeat(n)}${'}'.repeat(n)}`],
    ['inline fragments', (n: number) => `${'{...'.repeat(n)}{groups}${'}'.repeat(n)}`],
    ['lists', (n: number) => `{groups(x:${'['.repeat(n)}${']'.repeat(n)})}`],
    [
      'fragments',
      (n: number) =>
        `{...f0} ${Array.from({ length: n }, (_, i) => `fragment f${i} on Q{...f${i + 1}}`).join(' ')} fragment f${n} on Q{groups}`,
    ],
  ])('turn a stack overflow by nested %s into a refusal', (_, document) => {
    const generous = { ...rule, maxTokens: 1_000_000 };
    expect(refusal(() => judge(document(100_000), 'visitor', generous))).toBe('graphql-invalid');
  });
});

describe('syntax errors', () => {
  it('tell the place, not the document', () => {
    const problem = problemOf(() => judge('{ groups {\n  name secret-token } }'));
    expect(problem.code).toBe('graphql-invalid');
    expect(problem.detail).toContain('line 2, column 15');
    expect(problem.detail).not.toContain('secret');
  });

  it.each(['{', '{ groups', '{ groups(name: ) }', 'mutate { x }', '{ "groups" }', '{ groups \u0007 }', 'null'])(
    'refuse %j',
    (source) => {
      expect(refusal(() => judge(source))).toBe('graphql-invalid');
    },
  );
});

/*
 * A parser from before block strings reads `"""x"]) create_group(b: ["y"""` as "" "x" ]) create_group(b: [ "y" "": what is
 * text here is a field there.
 */
it('a quote inside a block string is refused', () => {
  expect(refusal(() => judge('{ groups(a: ["""x"]) create_group(b: ["y"""]) }'))).toBe('graphql-invalid');
  expect(refusal(() => judge('{ groups(a: """x\\"""y""") { name } }'))).toBe('graphql-invalid');
});

describe('a forbidden field', () => {
  /** What a selection set may be wrapped in; `%` is the place for the selections. */
  const wrapper = fc.constantFrom(
    '... { % }',
    '... on Mutation { % }',
    '... @skip(if: false) { % }',
    'groups { name } %',
    '% __typename',
    'fragment',
    '#}\n %',
    ', % ,',
  );

  it('never slips past in random fragments and aliases', () => {
    const field = fc
      .tuple(
        fc.constantFrom('', 'groups:', 'a :', '__typename:'),
        fc.constantFrom('create_group', 'x', '__schema', 'Groups', 'groupsx'),
      )
      .map(([alias, name]) => `${alias}${name}`);
    fc.assert(
      fc.property(
        field,
        fc.array(wrapper, { maxLength: 8 }),
        fc.constantFrom('', 'query', 'mutation M'),
        (inner, wrappers, operation) => {
          const { selections, fragments } = wrap(inner, wrappers);
          expect(
            refusal(() =>
              judge(`${fragments[0] ?? ''} ${operation} { ${selections} } ${fragments.slice(1).join(' ')}`),
            ),
          ).toBe('graphql-operation');
        },
      ),
    );
  });

  it('is the only thing that is refused so: the same wrapping lets an allowed one pass', () => {
    fc.assert(
      fc.property(fc.array(wrapper, { maxLength: 8 }), (wrappers) => {
        const { selections, fragments } = wrap('x: group(name: "a") { name }', wrappers);
        expect(() => judge(`{ ${selections} } ${fragments.join(' ')}`)).not.toThrow();
      }),
    );
  });

  function wrap(inner: string, wrappers: readonly string[]): { selections: string; fragments: string[] } {
    const fragments: string[] = [];
    let selections = inner;
    for (const outer of wrappers) {
      if (outer === 'fragment') {
        selections = `...F${fragments.push(`fragment F${fragments.length + 1} on Any { ${selections} }`)}`;
      } else selections = outer.replace('%', () => selections);
    }
    return { selections, fragments };
  }
});
