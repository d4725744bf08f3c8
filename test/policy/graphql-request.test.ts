import { describe, expect, it } from 'vitest';
import { readGraphqlDocument, requireGraphqlPost } from '../../src/policy/graphql-request.ts';
import { inbound, refusal, withBody } from './fixture.ts';

const read = (text: string) => readGraphqlDocument(Buffer.from(text));

describe('the head of a GraphQL request', () => {
  it('is a POST with a body', () => {
    expect(() => requireGraphqlPost(withBody(10))).not.toThrow();
    expect(() => requireGraphqlPost(withBody(10, { query: 'trace=1&q=%7B%7D' }))).not.toThrow();
    expect(refusal(() => requireGraphqlPost(inbound({ method: 'POST' })))).toBe('graphql-invalid');
    // A WebSocket handshake is a GET, too: a subscription transport would carry operations nobody judges.
    for (const method of ['GET', 'PUT', 'REPORT'] as const) {
      expect(refusal(() => requireGraphqlPost(withBody(10, { method })))).toBe('graphql-invalid');
    }
  });

  // express-graphql and others take `query` from the URL before they look at the body, which then says something harmless.
  it.each([
    'query={groups}',
    'query',
    'a=1&query=mutation%7Bx%7D',
    'a=1;query=x',
    '%71uery=x',
    'operationName=B',
    'variables={}',
    'extensions=%7B%7D',
    'query[]=x',
    'Query=x',
    '+query=x',
  ])('has no GraphQL parameter in its query: %s', (query) => {
    expect(refusal(() => requireGraphqlPost(withBody(10, { query })))).toBe('graphql-invalid');
  });
});

describe('the body of a GraphQL request', () => {
  it.each([
    '{"query":"{ groups }"}',
    '{"query":"{ groups }","variables":{"persistedQuery":1},"extensions":{"a":{"persistedQuery":1}}}',
    '{"query":"{ groups }","variables":null,"operationName":null,"extensions":null}',
    ' { "operationName" : "Q", "variables":{"query":"x","a":[{"query":1}]}, "query" : "{ gr\\u006fups }" ,"extensions":{"clientLibrary":{"name":"x"}}}\n',
  ])('gives its document: %s', (text) => {
    expect(read(text)).toBe('{ groups }');
  });

  // Every entry of a batch is an operation of its own; a rule that looks at one of them is no rule.
  it.each(['[]', '[{"query":"{ groups }"}]', ' [{"query":"{ groups }"},{"query":"mutation { create_group }"}]'])(
    'is no batch: %s',
    (text) => {
      expect(refusal(() => read(text))).toBe('graphql-operation');
    },
  );

  it.each([
    // Which of two equal members counts differs between parsers.
    '{"query":"{ groups }","query":"mutation { create_group }"}',
    '{"query":"{ groups }","qu\\u0065ry":"mutation { create_group }"}',
    '{"query":"{ groups }","variables":{},"variables":{}}',
    // Go's decoder takes a member in any case, and the last one counts.
    '{"query":"{ groups }","Query":"mutation { create_group }"}',
    // Stored documents: an id stands for text that nobody here has seen.
    '{"query":"{ groups }","id":"abc"}',
    '{"query":"{ groups }","documentId":"abc"}',
    '{"query":"{ groups }","extensions":{"persistedQuery":{"version":1,"sha256Hash":"abc"}}}',
    '{"query":"{ groups }","extensions":{"a":{},"PersistedQuery":null}}',
    '{"query":"{ groups }","extensions":{"p\\u0065rsistedQuery":{}}}',
    '{"query":"{ groups }","extensions":{"persistedQuery":{},"persistedQuery":null}}',
    '{"query":"{ groups }","__proto__":{"query":"x"}}',
    '{"operationName":"Q"}',
    '{}',
    '{"query":null}',
    '{"query":["{ groups }"]}',
    '{"query":{"x":"{ groups }"}}',
    '{"query":"{ groups }","operationName":1}',
    '{"query":"{ groups }","operationName":["a"]}',
    '{"query":"{ groups }","variables":[]}',
    '{"query":"{ groups }","variables":"{}"}',
    '{"query":"{ groups }","extensions":[]}',
    '"{ groups }"',
    'null',
    '1',
  ])('is refused: %s', (text) => {
    expect(refusal(() => read(text))).toBe('graphql-invalid');
  });

  it.each([
    '',
    '{ groups }',
    '{"query":"{ groups }"',
    '{"query":"{ groups }"}{"query":"x"}',
    "{'query':'x'}",
    '\ufeff{"query":"{ groups }"}',
  ])('is JSON: %j is not', (text) => {
    expect(refusal(() => read(text))).toBe('invalid-body');
  });

  it('is UTF-8', () => {
    expect(refusal(() => readGraphqlDocument(Buffer.from('{"query":"\xff"}', 'latin1')))).toBe('invalid-body');
    expect(refusal(() => readGraphqlDocument(Buffer.from('{"query":"{ groups }"}', 'utf16le')))).toBe('invalid-body');
  });
});
