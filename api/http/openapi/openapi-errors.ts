import { requiredAction } from '../../../src/events/required-action.js';
import { ERROR_STATUS, type ErrorType } from '../../../src/platform/errors.js';
import { described, objectSchema } from '../../../src/platform/object-schema.js';
import { count, idField, text } from '../../../src/platform/schema-fields.js';
import type { JsonSchema, Operation, Route } from '../core/operation.js';

const list = (name: string, description: string): JsonSchema =>
  objectSchema({ [name]: { type: 'array', items: text, description } });
const maxBytes = objectSchema({ max_bytes: described(count, 'The limit, in bytes.') });
const toolUseId = described(text, 'Id of the call.');
const CALL_STATES = ['not_asked', 'not_required', 'allowed', 'denied', 'answered', 'expired', 'cancelled'];
const QUESTION_STATES = ['answered', 'expired', 'withdrawn', 'lost', 'cancelled'];
const place = {
  $id: 'ErrorPlace',
  description: 'A part of the request that is wrong.',
  ...objectSchema({
    path: described(text, 'JSON Pointer into the body, or /query/<name>.'),
    message: described(text, 'What is wrong there.'),
  }),
};

/** The schema of `details` for each error type that has one (decisions.md "HTTP"). */
const DETAILS: Partial<Record<ErrorType, JsonSchema>> = {
  skill_not_found: objectSchema(
    {},
    {
      skill_ids: { type: 'array', items: text, description: 'The ids that name no skill.' },
      skill_names: { type: 'array', items: text, description: 'The names that no skill has.' },
    },
  ),
  agent_version_conflict: objectSchema({ version: described(count, 'The newest version of the agent.') }),
  file_not_found: list('file_ids', 'The ids that name no file.'),
  mcp_server_not_found: list('mcp_server_ids', 'The ids that name no MCP server.'),
  tool_use_not_found: list('tool_use_ids', 'The ids that name no call of the session.'),
  tool_use_not_pending: objectSchema({ tool_use_id: toolUseId, state: { type: 'string', enum: CALL_STATES } }),
  elicitation_not_found: list('elicitation_ids', 'The ids that name no question in the session.'),
  elicitation_not_pending: objectSchema({
    elicitation_id: idField('elicitation', 'Id of the question.'),
    state: { type: 'string', enum: QUESTION_STATES },
  }),
  session_running: {
    description: 'Present while the turn waits for answers.',
    ...objectSchema({
      required_actions: { type: 'array', items: requiredAction, description: 'What the turn waits for.' },
    }),
  },
  turn_not_continuable: objectSchema({
    reason: {
      $id: 'NotContinuableReason',
      type: 'string',
      enum: ['no_turn', 'completed', 'context_too_long'],
      description:
        '`no_turn`: the session has none. `completed`: there is nothing left to do. `context_too_long`: it would fail again.',
    },
  }),
  memory_conflict: objectSchema({
    sha256: { type: ['string', 'null'], description: 'The SHA-256 of the file now, in hex; null if it is not there.' },
  }),
  unknown_model: list('available_models', 'The ids of the models that can be used.'),
  unknown_mcp_tool: list('tools', 'Names of tools.'),
  tools_changed: list('tools', 'Names of tools.'),
  too_many_running_turns: objectSchema({ max_running_turns: described(count, 'The limit of the project.') }),
  file_too_large: maxBytes,
  fork_limit_reached: objectSchema({ max_forks: described(count, 'The copies that may exist at a time.') }),
  fork_too_large: objectSchema({
    max_events: described(count, 'The stored events that one fork may copy.'),
    max_bytes: maxBytes.properties.max_bytes,
  }),
  content_too_large: maxBytes,
  skill_bundle_too_large: maxBytes,
  storage_limit_reached: maxBytes,
  insufficient_scope: objectSchema({ required: described(text, 'The permission that the key lacks.') }),
  not_an_approver: objectSchema(
    {},
    {
      approvers: { type: 'array', items: text, description: 'The approver groups of which one decides.' },
      approver_groups: { type: 'array', items: text, description: 'The approver groups that your key lacks.' },
      required: described(text, 'The permission that the key lacks.'),
    },
  ),
  validation_error: objectSchema({
    errors: { type: 'array', items: place, description: 'Every part of the request that is wrong; at most 50.' },
  }),
};

const details = {
  $id: 'ErrorDetails',
  description: 'Facts about an error. Which of them are there depends on its type.',
  type: 'object',
  properties: {
    ...Object.assign({}, ...Object.values(DETAILS).map(({ properties }) => properties as object)),
    state: {
      $id: 'NotPendingState',
      type: 'string',
      enum: [...new Set([...CALL_STATES, ...QUESTION_STATES])],
      description: 'The state of the call or the question that does not wait for an answer.',
    },
  } as Record<string, JsonSchema>,
};

/** The body of every error. New types may appear: the types of an operation stand in the descriptions of its responses. */
export const errorResponseSchema = {
  $id: 'ErrorResponse',
  description: 'The body of every error.',
  ...objectSchema({
    type: { const: 'error' },
    error: {
      $id: 'ErrorInfo',
      description: 'What went wrong.',
      ...objectSchema(
        {
          type: described(
            text,
            'The kind of error. Decide by it. The description of each status names those that an operation can answer with.',
          ),
          message: described(text, 'An explanation for people. It may change.'),
        },
        { details },
      ),
    },
    request_id: described(text, 'Id of the request. Name it when you ask about the error.'),
  }),
};

const EVERY: ErrorType[] = ['internal_error', 'service_unavailable'];
/** `bad_request`: the header `X-Actor`. */
const OF_KEYS: ErrorType[] = ['authentication_error', 'insufficient_scope', 'too_many_requests', 'bad_request'];
const OF_BODY: ErrorType[] = [
  'bad_request',
  'request_timeout',
  'content_too_large',
  'unsupported_media_type',
  'validation_error',
];

/** The schema of `details` of each error type: null for a type without them. */
export function errorDetails(): Record<string, JsonSchema> {
  const types = Object.keys(ERROR_STATUS) as ErrorType[];
  return Object.fromEntries(types.map((type) => [type, DETAILS[type] ?? { type: 'null' }]));
}

export function errorsByStatus(route: Route): Map<number, ErrorType[]> {
  const [, path, permission, limited, operation, tokenScope] = route;
  const ofTokens = tokenScope === null ? [] : tokenErrors(path);
  const types = new Set<ErrorType>([
    ...(permission === null ? [] : OF_KEYS),
    ...(limited ? (['rate_limit_exceeded'] as const) : []),
    ...ofTokens,
    ...ofOperation(operation),
    ...EVERY,
  ]);
  const byStatus = new Map<number, ErrorType[]>();
  for (const type of types) byStatus.set(ERROR_STATUS[type], [...(byStatus.get(ERROR_STATUS[type]) ?? []), type]);
  return byStatus;
}

/** Errors of requests with a session token: it has limits of its own, and ends with its session. */
function tokenErrors(path: string): ErrorType[] {
  return path.includes('{session_id}') ? ['rate_limit_exceeded'] : ['rate_limit_exceeded', 'session_not_found'];
}

function ofOperation(operation: Operation): ErrorType[] {
  return [
    ...(operation.paged ? (['invalid_cursor', 'validation_error'] as const) : []),
    ...(operation.query ? (['validation_error'] as const) : []),
    ...(operation.body ? OF_BODY : []),
    ...(operation.idempotent ? (['bad_request', 'idempotency_key_in_use', 'idempotency_key_reused'] as const) : []),
    ...operation.errors,
  ];
}

/** The body of exactly this error, with its own details: what tests check. */
export function strictErrorSchema(type: ErrorType): JsonSchema {
  const own = DETAILS[type];
  return {
    $id: strictErrorName(type),
    ...objectSchema({
      type: { const: 'error' },
      error: objectSchema({ type: { const: type }, message: text }, own && { details: own }),
      request_id: text,
    }),
  };
}

/** `skill_not_found` → `SkillNotFoundError`. */
export function strictErrorName(type: ErrorType): string {
  const words = type.replace(/_error$/, '').split('_');
  return `${words.map((word) => word[0]!.toUpperCase() + word.slice(1)).join('')}Error`;
}
