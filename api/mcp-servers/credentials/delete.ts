import { transaction } from '../../../src/db/transaction.js';
import { deleteCredentials, type UserCredential } from '../../../src/mcp/user-credentials.js';
import { operation } from '../../http/core/operation.js';
import { credentialOfPath } from './resource.js';
import { dropCredentials } from './usable.js';

export const deleteUserCredential = operation<undefined, UserCredential>({
  id: 'deleteCredential',
  summary: 'Delete a credential of a user',
  description:
    'Erases the secret, closes the connections that were made with it and revokes tokens. The next call of this user to the server waits for a new one.',
  success: { status: 204, description: 'Deleted.' },
  errors: ['credential_not_found'],
  resource: credentialOfPath,
  async handle({ deps, resource: { project_id, id }, record, log }) {
    const { dropped, grants } = await transaction(deps.db, async (tx) => {
      await record(tx);
      return deleteCredentials(tx, project_id, { id });
    });
    await dropCredentials({ ...deps, log }, dropped, grants);
  },
});
