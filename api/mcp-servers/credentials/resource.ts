import { credentialNotFound, findCredential } from '../../../src/mcp/user-credentials.js';
import { resourceOfPath } from '../../http/core/resource.js';

export const credentialOfPath = resourceOfPath('credential_id', findCredential, credentialNotFound);
