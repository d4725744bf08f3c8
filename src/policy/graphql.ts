import {
  type DocumentNode,
  type FragmentDefinitionNode,
  GraphQLError,
  Kind,
  type OperationDefinitionNode,
  OperationTypeNode,
  parse,
  type SelectionSetNode,
  visit,
} from 'graphql';
import { Problem } from '../problem.ts';
import type { GraphqlRule } from '../tenant.ts';

type Fragments = ReadonlyMap<string, FragmentDefinitionNode>;

/**
 * Judges a GraphQL document by the root fields a role may use, wherever they hide: behind aliases, in inline fragments or
 * in fragments. One query or mutation per document. Throws Problem `graphql-operation` for what the role may not do,
 * `graphql-invalid` for what cannot be judged: a malformed, too long or too deep document.
 */
export function judgeDocument(source: string, rule: GraphqlRule, role: string): void {
  try {
    const document = parseDocument(source, rule.maxTokens);
    const { operation, fragments } = split(document);
    const allowed = rule.fields.get(role);
    for (const field of rootFields(operation.selectionSet, fragments)) {
      if (field === '__typename' || allowed?.has(field)) continue;
      throw new Problem('graphql-operation', `Your role may not use the field ${shortened(field)}.`);
    }
    if (depthOf(operation.selectionSet, fragments) > rule.maxDepth) throw tooDeep(rule.maxDepth);
    if (source.includes('"""')) refuseQuotesInBlockStrings(document);
  } catch (thrown) {
    // Parser and walk are recursive: a document that exhausts the stack is deeper than any limit.
    throw thrown instanceof RangeError ? tooDeep(rule.maxDepth) : thrown;
  }
}

function parseDocument(source: string, maxTokens: number): DocumentNode {
  try {
    return parse(source, { noLocation: true, maxLexicalTokens: maxTokens, maxComments: maxTokens });
  } catch (thrown) {
    if (!(thrown instanceof GraphQLError)) throw thrown;
    const at = thrown.locations?.[0];
    const where = at === undefined ? '' : ` at line ${at.line}, column ${at.column}`;
    throw invalid(`The document is malformed${where}, or longer than ${maxTokens} tokens there.`);
  }
}

function split(document: DocumentNode): { operation: OperationDefinitionNode; fragments: Fragments } {
  const operations: OperationDefinitionNode[] = [];
  const fragments = new Map<string, FragmentDefinitionNode>();
  for (const definition of document.definitions) {
    if (definition.kind === Kind.OPERATION_DEFINITION) operations.push(definition);
    else if (definition.kind === Kind.FRAGMENT_DEFINITION) {
      const name = definition.name.value;
      // The upstream might keep the first where we kept the last.
      if (fragments.has(name)) throw invalid(`The fragment ${shortened(name)} is defined twice.`);
      fragments.set(name, definition);
    } else throw invalid('The document has a definition that is neither an operation nor a fragment.');
  }
  const [operation, ...others] = operations;
  if (operation === undefined) throw invalid('The document has no operation.');
  if (others.length > 0) throw new Problem('graphql-operation', 'More than one operation per document is not allowed.');
  if (operation.operation === OperationTypeNode.SUBSCRIPTION) {
    throw new Problem('graphql-operation', 'Subscriptions are not allowed.');
  }
  return { operation, fragments };
}

/** The names (never the aliases) of the fields an operation may ask for at its root, whatever @skip and @include say. */
function rootFields(root: SelectionSetNode, fragments: Fragments): Set<string> {
  const fields = new Set<string>();
  const visited = new Set<string>();
  const pending = [root];
  for (let set = pending.pop(); set !== undefined; set = pending.pop()) {
    for (const selection of set.selections) {
      if (selection.kind === Kind.FIELD) fields.add(selection.name.value);
      else if (selection.kind === Kind.INLINE_FRAGMENT) pending.push(selection.selectionSet);
      else if (!visited.has(selection.name.value)) {
        visited.add(selection.name.value);
        pending.push(fragmentOf(selection.name.value, fragments).selectionSet);
      }
    }
  }
  return fields;
}

/** Levels of fields, through fragments. Each fragment is measured once, however often it is spread. */
function depthOf(root: SelectionSetNode, fragments: Fragments): number {
  const measured = new Map<string, number | 'being measured'>();
  const ofFragment = (name: string): number => {
    const known = measured.get(name);
    if (known === 'being measured') throw invalid(`The fragment ${shortened(name)} contains itself.`);
    if (known !== undefined) return known;
    measured.set(name, 'being measured');
    const depth = ofSet(fragmentOf(name, fragments).selectionSet);
    measured.set(name, depth);
    return depth;
  };
  const ofSet = (set: SelectionSetNode): number => {
    let deepest = 0;
    for (const selection of set.selections) {
      let depth: number;
      if (selection.kind === Kind.FRAGMENT_SPREAD) depth = ofFragment(selection.name.value);
      else if (selection.kind === Kind.INLINE_FRAGMENT) depth = ofSet(selection.selectionSet);
      else depth = 1 + (selection.selectionSet === undefined ? 0 : ofSet(selection.selectionSet));
      if (depth > deepest) deepest = depth;
    }
    return deepest;
  };
  return ofSet(root);
}

/**
 * A parser from before block strings (graphql-core 2, for one) reads `"""` as an empty string and the start of another, so
 * that a quote further on ends what is a string here, and fields that nobody judged follow.
 */
function refuseQuotesInBlockStrings(document: DocumentNode): void {
  visit(document, {
    StringValue(node) {
      if (node.block && node.value.includes('"')) throw invalid('A block string must not contain a quote.');
    },
  });
}

function fragmentOf(name: string, fragments: Fragments): FragmentDefinitionNode {
  const fragment = fragments.get(name);
  if (fragment === undefined) throw invalid(`The fragment ${shortened(name)} is not defined.`);
  return fragment;
}

/** GraphQL names are printable ASCII, but may be as long as the body. */
function shortened(name: string): string {
  return name.length <= 64 ? name : `${name.slice(0, 64)}…`;
}

function tooDeep(maxDepth: number): Problem {
  return invalid(`The document is nested deeper than ${maxDepth} levels.`);
}

function invalid(detail: string): Problem {
  return new Problem('graphql-invalid', detail);
}
