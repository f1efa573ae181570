import { groupsField } from '../../src/projects/approver-groups.js';
import type { FromSchema } from 'json-schema-to-ts';
import { transaction } from '../../src/db/transaction.js';
import { validationError } from '../../src/platform/errors.js';
import { objectSchema, shownAs } from '../../src/platform/object-schema.js';
import { utcTimestamp } from '../../src/platform/timestamps.js';
import { makeKey } from '../../src/projects/keys-of-project.js';
import { SCOPES } from '../../src/projects/permissions.js';
import { operation } from '../http/core/operation.js';
import { keyWithSecretSchema, presentKeyWithSecret, scopeSchema } from './present.js';

export const nameField = {
  type: 'string',
  minLength: 1,
  maxLength: 255,
  description: 'What people call the key.',
} as const;

const expiresAt = {
  type: 'string',
  maxLength: 64,
  description:
    'When it ends: a time in the future, and not after the end of your own key. Without it, as your own key.',
} as const;

const body = {
  $id: 'NewApiKey',
  description: 'A key, and what it may do.',
  ...objectSchema(
    {
      name: nameField,
      scopes: {
        type: 'array',
        minItems: 1,
        maxItems: SCOPES.length,
        uniqueItems: true,
        items: scopeSchema,
        description: 'What it may do: at most what your own key may.',
      },
    },
    {
      approver_groups: {
        ...groupsField,
        default: [],
        description: 'The groups in which it approves calls of tools: at most those of your own key.',
      },
      expires_at: shownAs(expiresAt, { ...expiresAt, format: 'date-time' }),
    },
  ),
  examples: [
    {
      name: 'finance desk',
      scopes: ['sessions:read', 'sessions:write', 'approvals:write'],
      approver_groups: ['finance'],
      expires_at: '2027-02-19T09:00:00Z',
    },
  ],
} as const;

/** No Idempotency-Key: its record would keep the secret. A client does not send the request again by itself. */
export const createKey = operation<FromSchema<typeof body>>({
  id: 'createKey',
  summary: 'Make a key for the project',
  description:
    'The response shows the secret, which is stored nowhere. A key gives at most what it has itself: scopes, approver groups and lifetime. If no answer comes, look for the key in the list, and revoke it.',
  body,
  repeatable: false,
  success: { status: 201, description: 'The key with its secret.', schema: keyWithSecretSchema },
  errors: ['insufficient_scope', 'not_an_approver', 'key_limit_reached'],
  handle: ({ deps, caller, body, record }) => {
    const expires_at = body.expires_at === undefined ? undefined : timeOf(body.expires_at);
    return transaction(deps.db, async (tx) => {
      const { row, key } = await makeKey(tx, caller, { ...body, expires_at });
      await record(tx, row);
      return presentKeyWithSecret({ ...row, key });
    });
  },
});

function timeOf(text: string): string {
  const time = utcTimestamp(text);
  if (time === null)
    throw validationError('/expires_at', 'must be a timestamp with an offset, such as 2027-02-19T09:00:00Z');
  return time;
}
