import type { JsonSchema, Route } from '../core/operation.js';

/** Ids of a wrong form are not found, so they have no pattern. */
const PATH_PARAMETERS: Record<string, string> = {
  skill_id: 'Id of the skill: `skill_…`.',
  mcp_server_id: 'Id of the MCP server: `mcp_…`.',
  credential_id: 'Id of the credential: `mcp_…`.',
  tool_name: 'The server’s own name of the tool.',
  session_id: 'Id of the session: `ses_…`.',
  turn_id: 'Id of the turn: `turn_…`.',
  event_id: 'Id of the event: `evt_…`.',
  file_id: 'Id of the file: `file_…`.',
  memory_id: 'Id of the memory: `mem_…`.',
  erasure_id: 'Id of the erasure: `era_…`.',
  webhook_id: 'Id of the webhook: `whk_…`.',
  delivery_id: 'Id of the delivery: `dlv_…`.',
  schedule_id: 'Id of the schedule: `sched_…`.',
  agent_id: 'Id of the agent: `agent_…`.',
  version: 'Number of the version.',
  key_id: 'Id of the key: `key_…`.',
};

export function parametersOf([, path, permission, , operation, , records]: Route): JsonSchema[] {
  const own = (operation.query?.properties ?? {}) as Record<string, JsonSchema>;
  const required = (operation.query?.required ?? []) as string[];
  return [
    ...[...path.matchAll(/\{(\w+)\}/g)].map(([, name]) =>
      parameter('path', name!, { type: 'string' }, PATH_PARAMETERS[name!]),
    ),
    ...(operation.paged ? PAGING : []),
    ...Object.entries(own).map(([name, { description, ...schema }]) => ({
      ...parameter('query', name, schema, description),
      ...(required.includes(name) && { required: true }),
    })),
    ...(operation.idempotent ? [IDEMPOTENCY_KEY] : []),
    ...(permission !== null && (records !== null || BEGINS_TURNS.has(operation.id)) ? [ACTOR] : []),
    ...Object.entries(operation.headers ?? {}).map(([name, text]) =>
      parameter('header', name, { type: 'string' }, text),
    ),
  ];
}

function parameter(where: 'path' | 'query' | 'header', name: string, schema: JsonSchema, text: unknown): JsonSchema {
  if (typeof text !== 'string') throw new Error(`the parameter ${name} has no description`);
  return {
    name,
    in: where,
    ...(where === 'path' && { required: true }),
    description: text,
    ...(schema.type === 'object' && { style: 'deepObject', explode: true }),
    schema,
  };
}

const PAGING = [
  parameter(
    'query',
    'limit',
    { type: 'integer', minimum: 1, maximum: 100, default: 20 },
    'Maximum number of items in a page.',
  ),
  parameter('query', 'cursor', { type: 'string' }, '`meta.next_cursor` of the previous page.'),
];
/** Turns say who sent them. */
const BEGINS_TURNS = new Set(['sendMessage', 'continueTurn']);
const ACTOR = parameter(
  'header',
  'X-Actor',
  { type: 'string', minLength: 1, maxLength: 128, pattern: '^[\\x20-\\x7e]+$' },
  'The person for whom you send the request with your key, as the audit log and the turn show it.',
);
const IDEMPOTENCY_KEY = parameter(
  'header',
  'Idempotency-Key',
  { type: 'string', minLength: 1, maxLength: 255, pattern: '^[\\x20-\\x7e]+$' },
  'Makes retries safe: for 24 hours, the same key and body return the first response.',
);
