import { transaction } from '../../../src/db/transaction.js';
import { deleteCredentials } from '../../../src/mcp/user-credentials.js';
import { operation } from '../../http/core/operation.js';
import { userField } from './fields.js';
import { dropCredentials } from './usable.js';

export const deleteCredentialsOfUser = operation({
  id: 'deleteCredentials',
  summary: 'Delete all credentials of a user',
  description:
    'Erases what the project stores to act as this person, also when there is nothing. Use it when they leave.',
  query: { type: 'object', properties: { user: userField }, required: ['user'] },
  success: { status: 204, description: 'Deleted, or there was none.' },
  errors: ['validation_error'],
  async handle({ deps, caller: { projectId }, query, record, log }) {
    const { dropped, grants } = await transaction(deps.db, async (tx) => {
      await record(tx);
      return deleteCredentials(tx, projectId, { user: query.user! });
    });
    await dropCredentials({ ...deps, log }, dropped, grants);
  },
});
