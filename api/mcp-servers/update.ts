import type { FromSchema } from 'json-schema-to-ts';
import type { McpServerRow } from '../../src/db/entities/mcp-servers.js';
import { transaction } from '../../src/db/transaction.js';
import { readAuth, type Credential } from '../../src/mcp/auth.js';
import { getServer, lockServer } from '../../src/mcp/find-servers.js';
import { refuseTakenName } from '../../src/mcp/names-taken.js';
import { startOauth, storeStarted, type StartedAuthorization } from '../../src/mcp/oauth/authorize.js';
import { checkRequiredApprovals, requireOffered } from '../../src/mcp/required-approvals.js';
import { openGrant } from '../../src/mcp/oauth/grants.js';
import { tryRevoke } from '../../src/mcp/oauth/revoke.js';
import { deleteOauth } from '../../src/mcp/oauth/store.js';
import type { ProbeResult } from '../../src/mcp/probes.js';
import { credentialAuth, requestAuthOf, type RequestAuth } from '../../src/mcp/request-auth.js';
import { requireKnownTools, unknownNames, updateServer } from '../../src/mcp/store.js';
import type { ApiDeps } from '../deps.js';
import { senderOf } from '../http/core/audit.js';
import { operation, type JsonSchema } from '../http/core/operation.js';
import {
  allowedToolsField,
  authField,
  credentialsField,
  nameField,
  pinToolsField,
  requiredApprovalsField,
} from './fields.js';
import { mcpServerSchema, presentMcpServer } from './present.js';
import { mcpServerOfPath } from './resource.js';

const body = {
  $id: 'McpServerChange',
  description: 'Changes of an MCP server. Fields that are absent stay.',
  type: 'object',
  properties: {
    name: nameField,
    auth: authField,
    allowed_tools: allowedToolsField,
    pin_tools: pinToolsField,
    credentials: credentialsField,
    required_approvals: requiredApprovalsField,
  },
  additionalProperties: false,
  examples: [{ allowed_tools: ['late_orders'] }],
} as const satisfies JsonSchema;

type Body = FromSchema<typeof body>;

export const updateMcpServer = operation<Body, McpServerRow>({
  id: 'updateMcpServer',
  summary:
    'Change the name, credential, allowed tools, tool pinning, kind of credentials or required approvals of an MCP server',
  description:
    'Changes the fields that the body has. A new `auth` is tried with a connection before it is stored. For another url, delete the server and register it again.',
  body,
  success: { status: 200, description: 'The changed MCP server.', schema: mcpServerSchema },
  errors: [
    'mcp_server_not_found',
    'invalid_mcp_server_url',
    'mcp_server_name_taken',
    'mcp_probe_failed',
    'mcp_oauth_failed',
    'unknown_mcp_tool',
  ],
  resource: mcpServerOfPath,
  check({ body: { required_approvals } }) {
    if (required_approvals !== undefined) checkRequiredApprovals(required_approvals);
  },
  async handle({ deps, caller, resource, body, record }) {
    if (Object.keys(body).length === 0) {
      await transaction(deps.db, (tx) => record(tx));
      return presentMcpServer(resource);
    }
    const { credential, probed, started } = await tryChange(deps, resource, body);

    const { answer, replaced } = await transaction(deps.db, async (tx) => {
      const server = await lockServer(tx, resource.project_id, resource.id);
      const { name = server.name, allowed_tools = server.allowed_tools, pin_tools = server.pin_tools } = body;
      const { credentials = server.credentials, required_approvals = server.required_approvals } = body;
      // If the credential changed meanwhile, that change ran a newer probe.
      const isNewest = credential !== undefined || server.credential_version === resource.credential_version;
      const listed = isNewest ? probed : null;
      const kept = { tools: server.tool_list, leftOut: server.tools_left_out };
      if (body.allowed_tools) requireKnownTools(body.allowed_tools, listed ?? kept);
      if (body.required_approvals)
        requireOffered(body.required_approvals, { ...(listed ?? kept), allowed: allowed_tools });
      const fields = { name, allowed_tools, pin_tools, credentials, required_approvals };
      await updateServer(tx, deps.config.encryptionKeys, server, { ...fields, credential, probed: listed });
      const replaced = credential === undefined ? null : await deleteOauth(tx, server.id);
      const link = started === null ? undefined : await storeStarted(tx, deps, server.id, started, senderOf(caller));
      await record(tx);
      return { answer: presentMcpServer(await getServer(tx, server.project_id, server.id), link), replaced };
    });
    if (credential !== undefined) deps.oauth.forget(resource.id);
    await tryRevoke(deps, resource.id, () => replaced && openGrant(deps.config.encryptionKeys, replaced));
    return answer;
  },
});

interface TriedChange {
  credential: Credential | undefined;
  /** The tools of the server, if the change needs them; null if they cannot be listed yet. */
  probed: ProbeResult | null;
  /** The started authorization that a person must finish, for type OAUTH. */
  started: StartedAuthorization | null;
}

/**
 * Runs every check before the row is locked. A new credential is tested with a probe of the server. So are names of tools that may be
 * among those that were left out.
 */
async function tryChange(deps: ApiDeps, server: McpServerRow, body: Body): Promise<TriedChange> {
  const { db, mcpNetwork, config, oauth } = deps;
  const credential = body.auth === undefined ? undefined : readAuth(body.auth);
  const { allowed_tools = server.allowed_tools } = body;
  const mayBeLeftOut =
    server.tools_left_out > 0 && unknownNames(body.allowed_tools ?? null, server.tool_list).length > 0;
  const isProbed = credential !== undefined || mayBeLeftOut;
  const url = isProbed ? await mcpNetwork.checkUrl(server.url) : undefined;
  if (body.name !== undefined) await refuseTakenName(db, server, body.name);
  if (url === undefined) return { credential, probed: null, started: null };
  if (credential?.type === 'OAUTH')
    return { credential, probed: null, started: await startOauth(deps, url, body.auth!) };
  const authorize = (): RequestAuth =>
    credential === undefined ? requestAuthOf(config.encryptionKeys, oauth, server) : credentialAuth(credential);
  const probed = await deps.probes.run(server.project_id, url, allowed_tools, authorize);
  return { credential, probed, started: null };
}
