import {
  GraphQLBoolean,
  GraphQLError,
  GraphQLID,
  GraphQLInputObjectType,
  GraphQLInt,
  GraphQLList,
  GraphQLNonNull,
  GraphQLObjectType,
  GraphQLScalarType,
  GraphQLSchema,
  GraphQLString,
  Kind,
} from 'graphql';

/** JSON text in a string; inside the server it is the value that the text describes. */
const JSONString = new GraphQLScalarType({
  name: 'JSONString',
  description: 'A JSON value, serialized as JSON text.',
  coerceOutputValue: (value) => JSON.stringify(value),
  coerceInputValue: parseJson,
  coerceInputLiteral: (node) => parseJson(node.kind === Kind.STRING ? node.value : undefined),
});

function parseJson(text: unknown): unknown {
  if (typeof text !== 'string') throw new GraphQLError('JSONString must be a string.');
  try {
    return JSON.parse(text);
  } catch {
    throw new GraphQLError('JSONString must hold valid JSON.');
  }
}

const text = { type: GraphQLString };
const texts = { type: new GraphQLList(GraphQLString) };
const flag = { type: GraphQLBoolean };
const jsonText = { type: JSONString };
const requiredText = { type: new GraphQLNonNull(GraphQLString) };
const requiredFlag = { type: new GraphQLNonNull(GraphQLBoolean) };

/** `secret_key` is null wherever a keypair is read; only create_group shows it, once. */
const KeyPair = new GraphQLObjectType({
  name: 'KeyPair',
  fields: {
    access_key: requiredText,
    secret_key: text,
    is_active: requiredFlag,
    is_admin: requiredFlag,
    created_at: requiredText,
    rate_limit: { type: new GraphQLNonNull(GraphQLInt) },
  },
});

const Group = new GraphQLObjectType({
  name: 'Group',
  fields: {
    id: { type: new GraphQLNonNull(GraphQLID) },
    name: requiredText,
    description: text,
    is_active: requiredFlag,
    domain_name: requiredText,
    total_resource_slots: jsonText,
    allowed_vfolder_hosts: texts,
    integration_id: text,
    user_uuids: texts,
    created_at: requiredText,
    modified_at: requiredText,
  },
});

const groupInputFields = {
  description: text,
  is_active: flag,
  total_resource_slots: jsonText,
  allowed_vfolder_hosts: texts,
  integration_id: text,
};

const GroupInput = new GraphQLInputObjectType({
  name: 'GroupInput',
  fields: { ...groupInputFields, domain_name: requiredText },
});

const ModifyGroupInput = new GraphQLInputObjectType({
  name: 'ModifyGroupInput',
  fields: { ...groupInputFields, name: text, domain_name: text, user_update_mode: text, user_uuids: texts },
});

const outcome = { ok: flag, msg: text };
const CreateGroup = new GraphQLObjectType({ name: 'CreateGroup', fields: { ...outcome, keypair: { type: KeyPair } } });
const ModifyGroup = new GraphQLObjectType({ name: 'ModifyGroup', fields: outcome });
const DeleteGroup = new GraphQLObjectType({ name: 'DeleteGroup', fields: outcome });

const query = new GraphQLObjectType({
  name: 'Query',
  fields: {
    groups: {
      type: new GraphQLNonNull(new GraphQLList(new GraphQLNonNull(Group))),
      args: { domain_name: text, is_active: flag },
    },
    group: { type: Group, args: { name: requiredText } },
    keypair: { type: new GraphQLNonNull(KeyPair), description: 'The keypair that signed the request.' },
  },
});

const mutation = new GraphQLObjectType({
  name: 'Mutation',
  fields: {
    create_group: {
      type: CreateGroup,
      args: { name: requiredText, props: { type: new GraphQLNonNull(GroupInput) } },
    },
    modify_group: {
      type: ModifyGroup,
      args: { name: requiredText, props: { type: new GraphQLNonNull(ModifyGroupInput) } },
    },
    delete_group: { type: DeleteGroup, args: { name: requiredText } },
  },
});

/** Groups and their administration (service-api.md §2 and §4). Its resolvers are the methods of the root value. */
export const schema = new GraphQLSchema({ query, mutation });
