import { transaction } from '../../src/db/transaction.js';
import { revokeKeyAs } from '../../src/projects/keys-of-project.js';
import { operation } from '../http/core/operation.js';
import { keyOfPath } from './resource.js';

export const revokeKey = operation({
  id: 'revokeKey',
  summary: 'Revoke a key for good',
  description:
    'It is refused within 5 s, and its open streams end within 10 s. Its turns and schedules go on. With `descendants`, the keys that it made are revoked too, and theirs. A key may revoke itself.',
  query: {
    type: 'object',
    properties: {
      descendants: { type: 'boolean', description: 'true: the keys that it made too, and theirs. Default false.' },
    },
  },
  success: { status: 204, description: 'Revoked, or it was revoked before.' },
  errors: ['key_not_found', 'validation_error'],
  resource: keyOfPath,
  async handle({ deps, caller, resource, query, record }) {
    await transaction(deps.db, async (tx) => {
      await revokeKeyAs(tx, caller, resource.id, query.descendants === 'true');
      await record(tx);
    });
  },
});
