import { pointerToken, validationError } from '../../src/platform/errors.js';
import { described } from '../../src/platform/object-schema.js';
import { isStorableText } from '../../src/platform/text.js';
import type { ListedState, SessionFilter } from '../../src/sessions/list.js';
import { MAX_METADATA_KEY_LENGTH, MAX_METADATA_VALUE_LENGTH, type Metadata } from '../../src/sessions/metadata.js';
import { USER_PATTERN } from '../../src/agents/new-session.js';
import type { JsonSchema } from '../http/core/operation.js';
import { filteredList } from '../http/core/page.js';
import { timeOfQuery } from '../http/core/validate.js';
import { statusSchema } from './present.js';

const MAX_METADATA_FILTERS = 4;
const MAX_SEARCH_LENGTH = 200;

const STATE_OF_STATUS: Record<(typeof statusSchema.enum)[number], ListedState> = {
  IDLE: 'idle',
  RUNNING: 'open',
  COMPLETE: 'completed',
  CANCELLED: 'cancelled',
  FAILED: 'failed',
};

/** The filters of the list of sessions (decisions.md "Messages while a turn runs", "Finding sessions"). */
export const filterSchema = {
  type: 'object',
  properties: {
    requires_action: {
      type: 'boolean',
      description: 'true: only sessions whose turn waits for an answer; false: only sessions whose turn does not.',
    },
    status: described(statusSchema, 'Only sessions with this status.'),
    agent_id: { type: 'string', description: 'Only sessions of this agent, whatever its version.' },
    created_after: {
      type: 'string',
      format: 'date-time',
      description: 'Only sessions that were created after this time.',
    },
    created_before: {
      type: 'string',
      format: 'date-time',
      description: 'Only sessions that were created before this time.',
    },
    user: {
      type: 'string',
      pattern: USER_PATTERN,
      description: 'Only sessions in which the agent acts for this person: the `user` of the session.',
    },
    parent_session_id: {
      type: 'string',
      description: 'Only the child sessions of this one. Without it, the list has no child sessions.',
    },
    metadata: {
      type: 'object',
      maxProperties: MAX_METADATA_FILTERS,
      additionalProperties: { type: 'string', maxLength: MAX_METADATA_VALUE_LENGTH },
      description: '`metadata[KEY]=VALUE`: only sessions with all of these pairs.',
    },
    q: {
      type: 'string',
      minLength: 1,
      maxLength: MAX_SEARCH_LENGTH,
      description:
        'Only sessions whose `preview` has this text as a part. Case does not matter. A page looks at 10,000 sessions: it may have few items or none, and `next_cursor` goes on.',
    },
    order: described(
      {
        $id: 'SessionOrder',
        type: 'string',
        enum: ['created', 'activity'],
        description: 'What a list of sessions is ordered by.',
      },
      '`created` (default): newest first. `activity`: by `updated_at`, newest first; a session that changes between two pages may come twice, or not.',
    ),
  },
} as const satisfies JsonSchema;

/** Reads the filter of a query that the schema accepts. @throws ServiceError `validation_error` */
export function filterOf(query: Record<string, string>): SessionFilter {
  const { requires_action, status, agent_id, parent_session_id: parent } = query;
  return {
    ...(requires_action !== undefined && { requiresAction: requires_action === 'true' }),
    ...(status !== undefined && { state: STATE_OF_STATUS[status as keyof typeof STATE_OF_STATUS] }),
    ...(agent_id !== undefined && { agentId: agent_id }),
    // No session has an id that Postgres cannot accept.
    ...(parent !== undefined && { parentId: isStorableText(parent) ? parent : '' }),
    createdAfter: timeOfQuery(query, 'created_after'),
    createdBefore: timeOfQuery(query, 'created_before'),
    metadata: metadataOf(query),
    text: query.q,
    user: query.user,
  };
}

/** The list's name in cursors, which belong to their filter and order. */
export function listName(filter: SessionFilter, order = 'created'): string {
  const { metadata = {}, ...others } = filter;
  const pairs = Object.entries(metadata).sort(([a], [b]) => (a < b ? -1 : 1));
  const given = { ...others, ...(pairs.length > 0 && { pairs }) };
  const name = order === 'activity' ? 'sessions by activity' : 'sessions';
  return JSON.stringify(given) === '{}' ? name : filteredList(name, given);
}

function metadataOf(query: Record<string, string>): Metadata {
  const pairs = Object.entries(query).flatMap(([name, value]) => {
    const key = /^metadata\[(.*)\]$/s.exec(name)?.[1];
    return key === undefined ? [] : [[key, value] as const];
  });
  if (pairs.length > MAX_METADATA_FILTERS) {
    throw validationError('/query/metadata', `takes at most ${MAX_METADATA_FILTERS} keys`);
  }
  for (const [key, value] of pairs) {
    const problem =
      problemOf('the key', key, 1, MAX_METADATA_KEY_LENGTH) ??
      problemOf('the value', value, 0, MAX_METADATA_VALUE_LENGTH);
    if (problem !== null) throw validationError(`/query/${pointerToken(`metadata[${key}]`)}`, problem);
  }
  return Object.fromEntries(pairs);
}

function problemOf(what: string, text: string, min: number, max: number): string | null {
  const { length } = [...text];
  if (length < min || length > max) return `must have ${min} to ${max} characters in ${what}`;
  return isStorableText(text) ? null : `has a NUL character or an unpaired surrogate in ${what}`;
}
