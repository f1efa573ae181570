import { requiredAction } from '../../../src/events/fields.js';
import { ERROR_STATUS, type ErrorType } from '../../../src/platform/errors.js';
import { isBoundedRead, type JsonSchema, type Operation, type Route } from '../core/operation.js';

const strings = (name: string): JsonSchema => object({ [name]: { type: 'array', items: { type: 'string' } } });
const integer = (name: string): JsonSchema => object({ [name]: { type: 'integer' } });

/** The schema of `details` for each error type that has one (contract.md §1). */
const DETAILS: Partial<Record<ErrorType, JsonSchema>> = {
  skill_not_found: strings('skill_ids'),
  file_not_found: strings('file_ids'),
  mcp_server_not_found: strings('mcp_server_ids'),
  tool_use_not_found: strings('tool_use_ids'),
  tool_use_not_pending: object({
    tool_use_id: { type: 'string' },
    state: {
      type: 'string',
      enum: ['not_asked', 'not_required', 'allowed', 'denied', 'answered', 'expired', 'cancelled'],
    },
  }),
  elicitation_not_found: strings('elicitation_ids'),
  elicitation_not_pending: object({
    elicitation_id: { type: 'string' },
    state: { type: 'string', enum: ['answered', 'expired', 'withdrawn', 'lost', 'cancelled'] },
  }),
  session_running: {
    description: 'Present while the turn waits for answers.',
    ...object({ required_actions: { type: 'array', items: requiredAction } }),
  },
  turn_not_continuable: object({
    reason: { type: 'string', enum: ['no_turn', 'completed', 'context_too_long'] },
  }),
  unknown_model: strings('available_models'),
  unknown_mcp_tool: strings('tools'),
  tools_changed: strings('tools'),
  too_many_running_turns: integer('max_running_turns'),
  file_too_large: integer('max_bytes'),
  content_too_large: integer('max_bytes'),
  skill_bundle_too_large: integer('max_bytes'),
  storage_limit_reached: integer('max_bytes'),
  insufficient_scope: object({ required: { type: 'string' } }),
  validation_error: object({
    errors: {
      type: 'array',
      items: object({
        path: { type: 'string', description: 'JSON Pointer into the body, or /query/<name>.' },
        message: { type: 'string' },
      }),
    },
  }),
};

const EVERY: ErrorType[] = ['internal_error', 'service_unavailable'];
const OF_BODY: ErrorType[] = [
  'bad_request',
  'request_timeout',
  'content_too_large',
  'unsupported_media_type',
  'validation_error',
];

export function errorSchemas(): Record<string, JsonSchema> {
  const types = Object.keys(ERROR_STATUS) as ErrorType[];
  return Object.fromEntries(types.map((type) => [errorSchemaName(type), envelopeOf(type)]));
}

/** `skill_not_found` → `SkillNotFoundError`. */
export function errorSchemaName(type: ErrorType): string {
  const words = type.replace(/_error$/, '').split('_');
  return `${words.map((word) => word[0]!.toUpperCase() + word.slice(1)).join('')}Error`;
}

export function errorsByStatus(route: Route): Map<number, ErrorType[]> {
  const [, , permission, limited, operation] = route;
  const types = new Set<ErrorType>([
    ...(permission === null ? [] : (['authentication_error', 'insufficient_scope'] as const)),
    ...(limited ? (['rate_limit_exceeded'] as const) : []),
    ...(isBoundedRead(route) ? (['too_many_requests'] as const) : []),
    ...ofOperation(operation),
    ...EVERY,
  ]);
  const byStatus = new Map<number, ErrorType[]>();
  for (const type of types) byStatus.set(ERROR_STATUS[type], [...(byStatus.get(ERROR_STATUS[type]) ?? []), type]);
  return byStatus;
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

function envelopeOf(type: ErrorType): JsonSchema {
  const details = DETAILS[type];
  return object({
    type: { const: 'error' },
    error: {
      ...object({ type: { const: type }, message: { type: 'string' } }),
      properties: { type: { const: type }, message: { type: 'string' }, ...(details && { details }) },
    },
    request_id: { type: 'string' },
  });
}

function object(properties: Record<string, JsonSchema>): JsonSchema {
  return { type: 'object', properties, required: Object.keys(properties), additionalProperties: false };
}
