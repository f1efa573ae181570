import { randomUUID } from 'node:crypto';
import type { Context } from 'koa';
import type { FromSchema } from 'json-schema-to-ts';
import type { McpServerRow, McpTool } from '../../src/db/entities/mcp-servers.js';
import { transaction } from '../../src/db/transaction.js';
import { requireOwnApproval } from '../../src/mcp/required-approvals.js';
import { readTools } from '../../src/mcp/find-servers.js';
import { requestAuthOf } from '../../src/mcp/request-auth.js';
import { UserRefusedError } from '../../src/mcp/tool-trials.js';
import { refusalOf } from '../../src/mcp/tool-status.js';
import { findCredentialOf, recordRefusal, recordUse, type TurnServerRow } from '../../src/mcp/user-credentials.js';
import { pointerToken, ServiceError, validationError } from '../../src/platform/errors.js';
import { losesDigits } from '../../src/platform/exact-json.js';
import { ignored } from '../../src/platform/ignored.js';
import { objectSchema, orNull } from '../../src/platform/object-schema.js';
import { anyObject } from '../../src/platform/schema-fields.js';
import { requireScope } from '../../src/projects/permissions.js';
import type { ApiDeps } from '../deps.js';
import { operation, type Call, type JsonSchema } from '../http/core/operation.js';
import { userField } from './credentials/fields.js';
import { mcpServerOfPath } from './resource.js';
import { toolResult } from './tool-fields.js';

const body = {
  $id: 'NewMcpToolCall',
  description: 'A call of a tool of an MCP server.',
  ...objectSchema(
    { input: { ...anyObject, description: 'The input of the tool. The MCP server checks it.' } },
    {
      user: {
        ...orNull(userField, 'Whose credential is used, for a server with `credentials: "user"`; not for others.'),
        default: null,
      },
    },
  ),
  examples: [{ input: { days: 3 } }],
} as const satisfies JsonSchema;

type Body = FromSchema<typeof body>;

interface ServerTool {
  server: McpServerRow;
  tool: McpTool;
}

/**
 * POST /v1/mcp-servers/{mcp_server_id}/tools/{tool_name}/call: acts at the server, as a turn does, so it needs the permission for
 * sessions, too (docs/decisions.md "Results"). Nothing is stored but an entry in the audit log, before the call is sent. The API process makes the call: no turn and no slot of a worker waits.
 */
export const callMcpTool = operation<Body, ServerTool>({
  id: 'callMcpTool',
  summary: 'Try a tool of an MCP server',
  description:
    'Calls a tool once, without a session, and shows the result as the agent would read it. The call has its effects: it is no dry run. A failure is a result with `is_error`, which says whether the tool may have run. It is not sent again, so do not repeat a request without an answer unless the tool may run twice. It ends after 60 s. Needs `sessions:write`, too, because it acts as an agent does; for a tool of `required_approvals` also `approvals:write` and one of its approver groups.',
  body,
  repeatable: false,
  success: { status: 200, description: 'What the call has come to.', schema: toolResult.schema },
  errors: ['not_an_approver', 'mcp_server_not_found', 'not_found', 'too_many_requests'],
  async resource(path) {
    const server = await mcpServerOfPath(path);
    const tools = await readTools(path.deps.db, server.id);
    const tool = tools.find(({ name }) => name === path.params.tool_name);
    if (tool === undefined) throw new ServiceError('not_found', 'The MCP server has no tool of this name.');
    return { server, tool };
  },
  check({ caller, body: { input } }) {
    requireScope(caller, 'sessions:write');
    const place = longInteger(input);
    if (place !== null) throw validationError(`/input${place}`, 'is beyond 2^53: not every digit of it can be kept');
  },
  async handle({ deps, caller, resource: { server, tool }, body: { input, user }, ctx, record, log }) {
    requireOwnApproval(caller, server, tool.name);
    const target = await targetOf(deps, server, user);
    const began = performance.now();
    const { content, isError } = await callOnce({ deps, ctx, record }, target, tool, input);
    const duration_ms = Math.round(performance.now() - began);
    log.info({ mcp_server_id: server.id, outcome: isError ? 'error' : 'ok', ms: duration_ms }, 'a tool was tried');
    return toolResult.present({ content, is_error: isError, duration_ms });
  },
});

/** The server with the credential of the user, if it is called as its users. @throws ServiceError `validation_error` at `/user` */
async function targetOf({ db }: ApiDeps, server: McpServerRow, user: string | null): Promise<TurnServerRow> {
  if (server.credentials === 'shared') {
    if (user === null) return server;
    throw validationError('/user', 'must be left out: the server is called with its own credential, for every user');
  }
  if (user === null) throw validationError('/user', 'is required: the server is called as one of its users');
  const credential = await findCredentialOf(db, server.id, user);
  if (credential?.is_usable === true) return { ...server, user_credential: credential };
  throw validationError('/user', 'has no credential that the server takes: store or authorize it first');
}

async function callOnce(
  { deps, ctx, record }: Pick<Call, 'deps' | 'ctx' | 'record'>,
  server: TurnServerRow,
  tool: McpTool,
  input: Record<string, unknown>,
): ReturnType<ApiDeps['toolTrials']['run']> {
  const refusal = refusalOf(server, tool.name) ?? taskRefusal(tool);
  const { config, db, oauth, toolTrials } = deps;
  const begin = (): Promise<void> => transaction(db, (tx) => record(tx));
  if (refusal !== null) {
    await begin();
    return { content: [{ type: 'text', text: refusal }], isError: true };
  }
  const credential = server.user_credential ?? null;
  try {
    const result = await toolTrials.run({
      projectId: server.project_id,
      begin,
      server,
      toolName: tool.name,
      input,
      idempotencyKey: randomUUID(),
      authorize: () => requestAuthOf(config.encryptionKeys, oauth, server),
      asUser: credential !== null,
      signal: signalOf(ctx),
    });
    if (credential !== null) void recordUse(db, credential).catch(ignored('it only informs'));
    return result;
  } catch (error) {
    if (!(error instanceof UserRefusedError)) throw error;
    await recordRefusal(db, credential!, error.message);
    throw validationError('/user', `has a credential that the server did not take: ${error.message}`);
  }
}

function taskRefusal({ name, task_support }: McpTool): string | null {
  return task_support === 'required' ? `The tool ${name} runs only as a task. Try it in a session.` : null;
}

/** Aborts when the connection of the request is lost. */
function signalOf({ res }: Context): AbortSignal {
  const gone = new AbortController();
  res.once('close', () => gone.abort(new Error('the client has closed the connection')));
  return gone.signal;
}

/** The place of the first integer whose digits were lost when the request was read; null without one. */
function longInteger(value: unknown): string | null {
  if (typeof value === 'number') return losesDigits(value) ? '' : null;
  if (typeof value !== 'object' || value === null) return null;
  for (const [key, inner] of Object.entries(value)) {
    const place = longInteger(inner);
    if (place !== null) return `/${pointerToken(key)}${place}`;
  }
  return null;
}
