import type { FromSchema } from 'json-schema-to-ts';
import type { Tx } from '../../src/db/db.js';
import { transaction } from '../../src/db/transaction.js';
import {
  MAX_METADATA_KEY_LENGTH,
  MAX_METADATA_PATCH_KEYS,
  MAX_METADATA_VALUE_LENGTH,
  mergeMetadata,
} from '../../src/sessions/metadata.js';
import { budgetSchema, checkBudgetForSession } from '../../src/sessions/budget.js';
import { lockSession, updateFields, type Session, type SessionState } from '../../src/sessions/store.js';
import { operation, type JsonSchema } from '../http/core/operation.js';
import { presentSession, sessionSchema } from './present.js';
import { updateBudget } from './update-budget.js';
import { sessionNotFound, sessionStateOfPath } from '../http/core/session-of-path.js';

const body = {
  $id: 'SessionChange',
  description: 'Changes of a session. Fields that are absent stay.',
  type: 'object',
  properties: {
    metadata: {
      description:
        'JSON Merge Patch (RFC 7396): a value sets its key, null deletes it, absent keys stay. Usage keeps a copy of them for 90 days (USAGE_METADATA_DAYS), also of a deleted session: put in ids of yours, such as a customer’s number, and no names or addresses.',
      type: 'object',
      maxProperties: MAX_METADATA_PATCH_KEYS,
      propertyNames: { minLength: 1, maxLength: MAX_METADATA_KEY_LENGTH },
      additionalProperties: { type: ['string', 'null'], maxLength: MAX_METADATA_VALUE_LENGTH },
    },
    budget: { ...budgetSchema, description: 'Replaces the whole budget; null removes it.' },
  },
  minProperties: 1,
  additionalProperties: false,
  examples: [{ metadata: { customer: '4712', obsolete: null } }],
} as const satisfies JsonSchema;

export const updateSession = operation<FromSchema<typeof body>, SessionState>({
  id: 'updateSession',
  summary: "Change a session's metadata and budget",
  description:
    'Merges `metadata` and replaces `budget`; other fields of a session do not change. A larger budget lets a turn go on that waits for it.',
  body,
  success: { status: 200, description: 'The changed session.', schema: sessionSchema },
  errors: ['session_not_found', 'metadata_too_large'],
  resource: sessionStateOfPath,
  async handle({ deps, caller, resource, body, log }) {
    const update = (tx: Tx, locked: Session): Promise<Session> | Session => {
      const metadata = mergeMetadata(locked.metadata, body.metadata ?? {});
      const { budget = locked.budget } = body;
      if (body.budget !== undefined) checkBudgetForSession(deps.models, budget, locked);
      if (isSame(metadata, locked.metadata) && isSame(budget, locked.budget)) return locked;
      return updateFields(tx, locked, { metadata, budget });
    };
    if (body.budget !== undefined) {
      return presentSession(await updateBudget({ ...deps, log }, caller.projectId, resource.id, update));
    }
    return presentSession(
      await transaction(deps.db, async (tx) =>
        update(tx, (await lockSession(tx, caller.projectId, resource.id)) ?? sessionNotFound()),
      ),
    );
  },
});

/**
 * A patch that changes nothing does not change `updated_at`. Merging keeps the order of keys, so the JSON texts
 * compare.
 */
function isSame(a: object | null, b: object | null): boolean {
  return JSON.stringify(a) === JSON.stringify(b);
}
