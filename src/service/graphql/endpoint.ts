import { type DocumentNode, execute, GraphQLError, parse, validate } from 'graphql';
import { type Answer, json } from '../answer.ts';
import { type Call, type Params, paramsOf } from '../call.ts';
import { ServiceProblem } from '../problem.ts';
import type { Routes } from '../router.ts';
import { type GroupRealm, Operations } from './operations.ts';
import { schema } from './schema.ts';

const MAX_TOKENS = 10_000;

/**
 * `POST /v2/admin/gql`: `{query, variables?, operationName?}` → `{data, errors?}`. A request
 * that GraphQL cannot execute (syntax, validation, variables) is answered 400 with `{errors: […]}`, as is usual for
 * GraphQL over HTTP; an envelope of another shape is a problem, `invalid-params`.
 */
export function graphqlRoutes(realm: GroupRealm): Routes {
  return [['/v2/admin/gql', { POST: (call: Call) => answer(realm, call) }]];
}

async function answer(realm: GroupRealm, call: Call): Promise<Answer> {
  const { query, variables, operationName } = envelopeOf(paramsOf(call));
  const document = parsed(query);
  if (document instanceof GraphQLError) return json(400, { errors: [document] });
  const errors = validate(schema, document);
  if (errors.length > 0) return json(400, { errors });
  const result = await execute({
    schema,
    document,
    rootValue: new Operations(realm, call.caller.signer),
    variableValues: variables,
    operationName,
  });
  // Without `data` execution never began: the variables or the operation name did not fit.
  return json(result.data === undefined ? 400 : 200, result);
}

function parsed(query: string): DocumentNode | GraphQLError {
  try {
    return parse(query, { maxTokens: MAX_TOKENS });
  } catch (thrown) {
    if (thrown instanceof GraphQLError) return thrown;
    throw thrown;
  }
}

interface Envelope {
  readonly query: string;
  readonly variables: Params | null;
  readonly operationName: string | null;
}

function envelopeOf({ query, variables = null, operationName = null }: Params): Envelope {
  if (typeof query !== 'string') throw new ServiceProblem('invalid-params', 'The parameter query must be a text.');
  if (typeof variables !== 'object' || Array.isArray(variables)) {
    throw new ServiceProblem('invalid-params', 'The parameter variables must be an object.');
  }
  if (operationName !== null && typeof operationName !== 'string') {
    throw new ServiceProblem('invalid-params', 'The parameter operationName must be a text.');
  }
  return { query, variables: variables as Params | null, operationName };
}
