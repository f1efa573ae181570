import { listCredentials } from '../../../src/mcp/user-credentials.js';
import { operation } from '../../http/core/operation.js';
import { filteredList, newestPage, pageSchema } from '../../http/core/page.js';
import { credentialSchema, presentCredential } from './present.js';

export const listUserCredentials = operation({
  id: 'listCredentials',
  summary: 'List credentials of users, newest first',
  description: 'Shows which users have a credential for which MCP server, and whether the server accepts it.',
  query: {
    type: 'object',
    properties: {
      user: { type: 'string', description: 'Only those of this user.' },
      mcp_server_id: { type: 'string', description: 'Only those for this server.' },
    },
  },
  paged: true,
  success: {
    status: 200,
    description: 'A page of credentials, without secrets.',
    schema: pageSchema(credentialSchema),
  },
  errors: [],
  handle: ({ deps, caller, query }) => {
    const { user, mcp_server_id } = query;
    const filter = { user, mcp_server_id };
    return newestPage(
      query,
      filteredList('credentials', filter),
      (page) => listCredentials(deps.db, caller.projectId, filter, page),
      presentCredential,
    );
  },
});
