import { described } from '../../src/platform/object-schema.js';
import { idField, idOrNull, text, timestamp, timestampOrNull } from '../../src/platform/schema-fields.js';
import { SCOPES } from '../../src/projects/permissions.js';
import { presented } from '../http/core/presenter.js';

export const scopeSchema = {
  $id: 'Scope',
  type: 'string',
  enum: SCOPES,
  description: 'A permission of a key.',
} as const;

const properties = {
  id: idField('apiKey', 'Id of the key.'),
  name: { type: ['string', 'null'], description: 'What people call it; null for a key without a name.' },
  scopes: { type: 'array', items: scopeSchema, description: 'What it may do. Scopes never change.' },
  approver_groups: {
    type: 'array',
    items: text,
    description: 'The groups in which it approves calls of tools; `*`: every group.',
  },
  created_by: idOrNull('apiKey', 'Id of the key that made it; null if an operator did, with the command.'),
  created_at: described(timestamp, 'When it was made.'),
  expires_at: described(timestampOrNull, 'From when on it is refused; null: never.'),
  revoked_at: described(timestampOrNull, 'When it was revoked; null if it was not.'),
  last_used_at: described(timestampOrNull, 'The hour of its last use; null if it was never used.'),
} as const;

const example = {
  id: 'key_01kag8q2w3e4r5t6y7u8i9o0p1',
  name: 'finance desk',
  scopes: ['sessions:read', 'sessions:write', 'approvals:write'],
  approver_groups: ['finance'],
  created_by: 'key_01kag8p9o8i7u6y5t4r3e2w1q0',
  created_at: '2026-11-21T09:00:00.000001Z',
  expires_at: '2027-02-19T09:00:00.000000Z',
  revoked_at: null,
  last_used_at: null,
};

/** The key resource (decisions.md "Keys, approvers, audit log"), without its secret. */
export const { schema: keySchema, present: presentKey } = presented(
  'ApiKey',
  'A key of the project, without its secret.',
  properties,
  example,
);

/** The key with its secret: only in the response of POST. */
export const { schema: keyWithSecretSchema, present: presentKeyWithSecret } = presented(
  'ApiKeyWithSecret',
  'A new key with its secret.',
  {
    ...properties,
    key: {
      type: 'string',
      pattern: '^ask_',
      description: 'The secret to send as Bearer. Shown only in this response.',
    },
  },
  { ...example, key: 'ask_9pZ0…' },
);
