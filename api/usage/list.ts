import { count, money } from '../../src/events/fields.js';
import { objectSchema } from '../../src/platform/object-schema.js';
import { validationError } from '../../src/platform/errors.js';
import { invalidCursor, pageOf } from '../../src/platform/page.js';
import { isStorableText } from '../../src/platform/text.js';
import { isoIn, isoNow, utcTimestamp } from '../../src/platform/timestamps.js';
import { MAX_METADATA_KEY_LENGTH } from '../../src/sessions/metadata.js';
import { sumUsage, type UsageGroup, type UsageGrouping, type UsageWindow } from '../../src/turns/usage.js';
import { operation, type JsonSchema } from '../http/core/operation.js';
import { filteredList, pageRequest, pageSchema } from '../http/core/page.js';
import { timeOfQuery } from '../http/core/validate.js';

const DEFAULT_DAYS_MS = 30 * 24 * 3600 * 1000;
const METADATA = 'metadata.';

const usageSchema = {
  $id: 'UsageGroup',
  ...objectSchema({
    group: { type: ['string', 'null'], description: 'Null for turns of sessions without the metadata key.' },
    turns: count,
    model_calls: count,
    input_tokens: { ...count, description: 'All input, cache reads and writes included.' },
    output_tokens: count,
    cache_read_input_tokens: count,
    cache_creation_input_tokens: count,
    cost: { ...money, type: ['object', 'null'], description: 'Null if a model call of the group has no price.' },
  }),
} as const;

const query = {
  type: 'object',
  properties: {
    from: { type: 'string', format: 'date-time', description: 'Inclusive; 30 days before `to` when absent.' },
    to: { type: 'string', format: 'date-time', description: 'Exclusive; now when absent.' },
    group_by: {
      type: 'string',
      description: '`day` (of UTC, the default), `model`, `session` or `metadata.KEY`.',
    },
  },
} as const satisfies JsonSchema;

/** What the turns that ended in a time took: tokens and money. Deleted sessions count. */
export const listUsage = operation({
  id: 'listUsage',
  summary: 'Sum up tokens and costs of turns by day, model, session or metadata',
  paged: true,
  query,
  success: { status: 200, description: 'A page of groups, in order.', schema: pageSchema(usageSchema) },
  errors: [],
  async handle({ deps, caller, query }) {
    const grouping = groupingOf(query.group_by ?? 'day');
    const list = listName(query);
    const { limit, after } = pageRequest(query, list, 3);
    const window = after === null ? windowOf(query) : windowOfCursor(after);
    const groups = await sumUsage(deps.db, caller.projectId, window, grouping, { limit, after: after?.[0] ?? null });
    // The null group is the last one: no page follows it.
    const keyOf = ({ group }: UsageGroup): string[] => [group ?? '', window.from, window.to];
    return pageOf(list, groups, keyOf, (group) => group);
  },
});

/** A cursor belongs to its filter, and keeps the time of its first page. */
function listName({ from = '', to = '', group_by = 'day' }: Record<string, string>): string {
  return filteredList('usage', [from, to, group_by]);
}

/** @throws ServiceError `validation_error` */
function groupingOf(text: string): UsageGrouping {
  if (text === 'day' || text === 'model' || text === 'session') return text;
  const key = text.startsWith(METADATA) ? text.slice(METADATA.length) : '';
  const { length } = [...key];
  if (length < 1 || length > MAX_METADATA_KEY_LENGTH || !isStorableText(key)) {
    throw validationError('/query/group_by', 'must be day, model, session or metadata.KEY');
  }
  return { metadata: key };
}

/** @throws ServiceError `validation_error` */
function windowOf(query: Record<string, string>): UsageWindow {
  const to = timeOfQuery(query, 'to') ?? isoNow();
  const from = timeOfQuery(query, 'from') ?? isoIn(Date.parse(to) - DEFAULT_DAYS_MS - Date.now());
  if (from > to) throw validationError('/query/from', 'must not be after `to`');
  return { from, to };
}

function windowOfCursor([, from, to]: string[]): UsageWindow {
  if (utcTimestamp(from!) !== from || utcTimestamp(to!) !== to) throw invalidCursor();
  return { from, to };
}
