import { operation } from '../../http/core/operation.js';
import { credentialSchema, presentCredential } from './present.js';
import { credentialOfPath } from './resource.js';

export const getUserCredential = operation({
  id: 'getCredential',
  summary: 'Get a credential of a user',
  description: 'Shows whether the user has authorized the server, and why the server refused the credential last.',
  success: { status: 200, description: 'The credential, without its secret.', schema: credentialSchema },
  errors: ['credential_not_found'],
  resource: credentialOfPath,
  handle: async ({ resource }) => presentCredential(resource),
});
