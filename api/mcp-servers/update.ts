import type { FromSchema } from 'json-schema-to-ts';
import type { McpServerRow } from '../../src/db/entities/mcp-servers.js';
import { transaction } from '../../src/db/transaction.js';
import { readAuth } from '../../src/mcp/auth.js';
import { probeServer } from '../../src/mcp/probe.js';
import { lockServer, refuseTakenName, requireKnownTools, updateServer, type NewAuth } from '../../src/mcp/store.js';
import type { ApiDeps } from '../deps.js';
import { operation, type JsonSchema } from '../http/operation.js';
import { allowedToolsField, authField, nameField } from './fields.js';
import { mcpServerSchema, presentMcpServer } from './present.js';
import { mcpServerNotFound, mcpServerOfPath } from './resource.js';

const body = {
  type: 'object',
  properties: { name: nameField, auth: authField, allowed_tools: allowedToolsField },
  additionalProperties: false,
} as const satisfies JsonSchema;

type Body = FromSchema<typeof body>;

export const updateMcpServer = operation<Body, McpServerRow>({
  id: 'updateMcpServer',
  summary: 'Rename an MCP server, change its credential or its allow-list',
  body,
  success: { status: 200, description: 'The MCP server as it is now.', schema: mcpServerSchema },
  errors: [
    'mcp_server_not_found',
    'invalid_mcp_server_url',
    'mcp_server_name_taken',
    'mcp_probe_failed',
    'unknown_mcp_tool',
  ],
  resource: mcpServerOfPath,
  async handle({ deps, resource, body }) {
    if (Object.keys(body).length === 0) return presentMcpServer(resource);
    const auth = await tryAuth(deps, resource, body);

    return transaction(deps.db, async (tx) => {
      const server = (await lockServer(tx, resource.id)) ?? mcpServerNotFound();
      const { name = server.name, allowed_tools: allowedTools = server.allowed_tools } = body;
      if (body.allowed_tools) requireKnownTools(body.allowed_tools, auth?.probed.tools ?? server.tools);
      return presentMcpServer(
        await updateServer(tx, deps.config.encryptionKeys, server.id, { name, allowedTools, auth }),
      );
    });
  },
});

/** Everything that can be refused before the row is locked; a new credential is tried at the server. */
async function tryAuth({ db, mcpNetwork }: ApiDeps, server: McpServerRow, body: Body): Promise<NewAuth | undefined> {
  const credential = body.auth === undefined ? undefined : readAuth(body.auth);
  const url = credential === undefined ? undefined : await mcpNetwork.checkUrl(server.url);
  if (body.name !== undefined) await refuseTakenName(db, server, body.name);
  if (credential === undefined || url === undefined) return undefined;
  return { credential, probed: await probeServer(mcpNetwork, url, () => credential) };
}
