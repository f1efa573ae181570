import { groupsField } from '../../src/projects/approver-groups.js';
import type { FromSchema } from 'json-schema-to-ts';
import { transaction } from '../../src/db/transaction.js';
import { changeKey, type ProjectKey } from '../../src/projects/keys-of-project.js';
import { operation, type JsonSchema } from '../http/core/operation.js';
import { nameField } from './create.js';
import { keySchema, presentKey } from './present.js';
import { keyOfPath } from './resource.js';

const body = {
  $id: 'ApiKeyChange',
  description: 'Changes of a key. Fields that are absent stay.',
  type: 'object',
  properties: {
    name: nameField,
    approver_groups: {
      ...groupsField,
      description: 'Replaces its groups. You can add those of your own key, and take away any.',
    },
  },
  additionalProperties: false,
  examples: [{ approver_groups: ['finance', 'legal'] }],
} as const satisfies JsonSchema;

export const updateKey = operation<FromSchema<typeof body>, ProjectKey>({
  id: 'updateKey',
  summary: 'Change the name or the approver groups of a key',
  description: 'Its scopes never change: make another key. The change holds within 5 s.',
  body,
  success: { status: 200, description: 'The changed key.', schema: keySchema },
  errors: ['key_not_found', 'not_an_approver'],
  resource: keyOfPath,
  handle: ({ deps, caller, resource, body, record }) =>
    transaction(deps.db, async (tx) => {
      const key = await changeKey(tx, caller, resource.id, body);
      await record(tx, key);
      return presentKey({ ...key });
    }),
});
