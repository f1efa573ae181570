import { money } from '../../src/events/fields.js';
import { described, objectSchema, orNull } from '../../src/platform/object-schema.js';
import { count } from '../../src/platform/schema-fields.js';
import { validationError } from '../../src/platform/errors.js';
import { invalidCursor, pageOf } from '../../src/platform/page.js';
import { isStorableText } from '../../src/platform/text.js';
import { isoIn, isoNow, utcTimestamp } from '../../src/platform/timestamps.js';
import { MAX_METADATA_KEY_LENGTH } from '../../src/sessions/metadata.js';
import { BY_USER, sumUsage, type UsageGroup, type UsageGrouping, type UsageWindow } from '../../src/turns/usage.js';
import { operation, type JsonSchema } from '../http/core/operation.js';
import { filteredList, pageRequest, pageSchema } from '../http/core/page.js';
import { timeOfQuery } from '../http/core/validate.js';

const DEFAULT_DAYS_MS = 30 * 24 * 3600 * 1000;
const METADATA = 'metadata.';

const usageSchema = {
  $id: 'UsageGroup',
  description: 'What the turns of a group took.',
  ...objectSchema({
    group: {
      type: ['string', 'null'],
      description:
        'The day, the id of the model, session or agent, the agent’s version, the session’s user, or the value of the metadata key; null for turns without the key, a user or an agent.',
    },
    turns: described(count, 'Number of turns.'),
    model_calls: described(count, 'Number of model calls.'),
    input_tokens: described(count, 'All input tokens, cache reads and writes included.'),
    output_tokens: described(count, 'All output tokens, thinking included.'),
    cache_read_input_tokens: described(count, 'Input tokens that the model’s server read from its cache.'),
    cache_creation_input_tokens: described(count, 'Input tokens that the model’s server wrote to its cache.'),
    cost: orNull(money, 'What the model calls cost; null if one of them has no price.'),
  }),
  examples: [
    {
      group: '2026-11-21',
      turns: 12,
      model_calls: 31,
      input_tokens: 48_210,
      output_tokens: 5120,
      cache_read_input_tokens: 30_000,
      cache_creation_input_tokens: 4000,
      cost: { amount: '0.155430', currency: 'USD' },
    },
  ],
} as const;

const query = {
  type: 'object',
  properties: {
    from: { type: 'string', format: 'date-time', description: 'Inclusive; 30 days before `to` when absent.' },
    to: { type: 'string', format: 'date-time', description: 'Exclusive; now when absent.' },
    group_by: {
      type: 'string',
      description:
        '`day` (of UTC, the default), `model`, `session`, `user`, `agent`, `agent_version` (`ID@N`) or `metadata.KEY`.',
    },
  },
} as const satisfies JsonSchema;

/** What the turns that ended in a time took: tokens and money. Deleted sessions count. */
export const listUsage = operation({
  id: 'listUsage',
  summary: 'Sum up tokens and costs of turns by day, model, session, user, agent or metadata',
  description: 'Counts the turns that ended in a period. Deleted sessions count too.',
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

const PLAIN = ['day', 'model', 'session', 'agent', 'agent_version'] as const;

function isPlain(text: string): text is (typeof PLAIN)[number] {
  return (PLAIN as readonly string[]).includes(text);
}

/** @throws ServiceError `validation_error` */
function groupingOf(text: string): UsageGrouping {
  if (isPlain(text)) return text;
  if (text === 'user') return BY_USER;
  const key = text.startsWith(METADATA) ? text.slice(METADATA.length) : '';
  const { length } = [...key];
  if (length < 1 || length > MAX_METADATA_KEY_LENGTH || !isStorableText(key)) {
    throw validationError('/query/group_by', 'must be day, model, session, user, agent, agent_version or metadata.KEY');
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
