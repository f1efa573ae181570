import { objectSchema } from '../../src/platform/object-schema.js';
import type { FromSchema } from 'json-schema-to-ts';
import { transaction } from '../../src/db/transaction.js';
import { newId } from '../../src/platform/ids.js';
import { readAuth } from '../../src/mcp/auth.js';
import { getServer } from '../../src/mcp/find-servers.js';
import { refuseTaken } from '../../src/mcp/names-taken.js';
import { checkRequiredApprovals, requireOffered } from '../../src/mcp/required-approvals.js';
import { startOauth, storeStarted } from '../../src/mcp/oauth/authorize.js';
import { credentialAuth } from '../../src/mcp/request-auth.js';
import { insertServer, requireKnownTools } from '../../src/mcp/store.js';
import { senderOf } from '../http/core/audit.js';
import { operation } from '../http/core/operation.js';
import {
  allowedToolsField,
  authField,
  credentialsField,
  nameField,
  pinToolsField,
  requiredApprovalsField,
} from './fields.js';
import { mcpServerSchema, presentMcpServer } from './present.js';

const body = {
  $id: 'NewMcpServer',
  description: 'An MCP server, and how to use it.',
  ...objectSchema(
    {
      name: nameField,
      url: {
        type: 'string',
        maxLength: 2048,
        description: 'Streamable HTTP endpoint: https, at a public address. An operator can allow others.',
      },
    },
    {
      auth: authField,
      allowed_tools: { ...allowedToolsField, default: null },
      pin_tools: { ...pinToolsField, default: false },
      credentials: { ...credentialsField, default: 'shared' },
      required_approvals: { ...requiredApprovalsField, default: [] },
    },
  ),
  examples: [{ name: 'orders', url: 'https://mcp.example.com/orders', auth: { type: 'BEARER', token: 'secret' } }],
} as const;

export const registerMcpServer = operation<FromSchema<typeof body>>({
  id: 'registerMcpServer',
  summary: 'Connect to an MCP server and register it',
  description:
    'Connects to the server, lists its tools and stores it, so that sessions can name it in `mcp_servers`. With `auth` of type OAUTH it does not connect yet: a person opens `authorization_url` first.',
  body,
  idempotent: true,
  success: { status: 201, description: 'The MCP server with the tools it offers.', schema: mcpServerSchema },
  errors: [
    'invalid_mcp_server_url',
    'mcp_server_name_taken',
    'mcp_server_url_taken',
    'mcp_probe_failed',
    'mcp_oauth_failed',
    'unknown_mcp_tool',
  ],
  check: ({ body }) => checkRequiredApprovals(body.required_approvals),
  async handle({ deps, caller, body, record }) {
    const { projectId } = caller;
    const { config, db, mcpNetwork } = deps;
    const credential = readAuth(body.auth);
    const url = await mcpNetwork.checkUrl(body.url);
    await refuseTaken(db, projectId, body.name, body.url);
    const started = credential.type === 'OAUTH' ? await startOauth(deps, url, body.auth!) : null;
    const probed =
      started === null
        ? await deps.probes.run(projectId, url, body.allowed_tools, () => credentialAuth(credential))
        : null;
    const { tools, leftOut } = probed ?? { tools: [], leftOut: 0 };
    requireKnownTools(body.allowed_tools, { tools, leftOut });
    requireOffered(body.required_approvals, { tools, leftOut, allowed: body.allowed_tools });

    const id = newId('mcpServer');
    const { name, url: given, allowed_tools, pin_tools, credentials, required_approvals } = body;
    const fields = { name, url: given, allowed_tools, pin_tools, credentials, required_approvals };
    const server = { id, project_id: projectId, credential, ...fields };
    return transaction(db, async (tx) => {
      await insertServer(tx, config.encryptionKeys, server, probed);
      const link = started === null ? undefined : await storeStarted(tx, deps, id, started, senderOf(caller));
      const row = await getServer(tx, projectId, id);
      await record(tx, presentMcpServer(row));
      return presentMcpServer(row, link);
    });
  },
});
