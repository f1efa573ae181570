import { STORED_EVENT_TYPES } from '../../src/events/schema.js';
import type { HistoryFilter } from '../../src/events/read-history.js';
import { described } from '../../src/platform/object-schema.js';
import { validationError } from '../../src/platform/errors.js';
import type { JsonSchema } from '../http/core/operation.js';
import { filteredList } from '../http/core/page.js';

const order = {
  $id: 'EventOrder',
  type: 'string',
  enum: ['asc', 'desc'],
  description: '`asc`: oldest first. `desc`: newest first.',
} as const;

/** The filters of the history (docs/decisions.md "Results", "Events"). */
export const filterSchema = {
  type: 'object',
  properties: {
    turn_id: { type: 'string', minLength: 1, description: 'Only events of this turn.' },
    types: {
      type: 'string',
      description: `Only events of these types, separated by commas: ${STORED_EVENT_TYPES.join(', ')}.`,
    },
    order: described(order, '`asc`: oldest first (the default); `desc`: newest first.'),
  },
} as const satisfies JsonSchema;

/** Reads the filter of a query that the schema accepts. @throws ServiceError `validation_error` */
export function filterOf({ turn_id, types, order }: Record<string, string>): HistoryFilter {
  return {
    ...(turn_id !== undefined && { turnId: turn_id }),
    ...(types !== undefined && { types: typesOf(types) }),
    isNewestFirst: order === 'desc',
  };
}

function typesOf(text: string): string[] {
  const types = [...new Set(text.split(','))].sort();
  const unknown = types.find((type) => !(STORED_EVENT_TYPES as string[]).includes(type));
  if (unknown === undefined) return types;
  throw validationError(
    '/query/types',
    unknown === ''
      ? 'must be a list of event types with one comma between each two'
      : `must name types of stored events: ${STORED_EVENT_TYPES.join(', ')}`,
  );
}

/** The list's name in cursors, which belong to their filter. */
export function listName(sessionId: string, { turnId, types, isNewestFirst }: HistoryFilter): string {
  return filteredList(`events of ${sessionId}`, [turnId, types, isNewestFirst]);
}
