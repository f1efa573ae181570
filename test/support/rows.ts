import { appendFileSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { errorsByStatus } from '../../api/http/openapi/openapi-errors.js';
import { routes } from '../../api/routes.js';
import type { ErrorType } from '../../src/platform/errors.js';

/** Which operation answers with which error. Routes that forget one show up as a gap. */
const SPECIFIED: Partial<Record<ErrorType, string[]>> = {
  invalid_skill_bundle: ['uploadSkill'],
  skill_bundle_too_large: ['uploadSkill'],
  skill_name_taken: ['uploadSkill'],
  skill_not_found: ['getSkill', 'listSkillFiles', 'skillContent', 'deleteSkill', 'sendMessage'],
  invalid_mcp_server_url: ['registerMcpServer', 'updateMcpServer', 'probeMcpServer'],
  mcp_probe_failed: ['registerMcpServer', 'updateMcpServer', 'probeMcpServer'],
  mcp_oauth_failed: ['registerMcpServer', 'updateMcpServer', 'authorizeMcpServer'],
  unknown_mcp_tool: ['registerMcpServer', 'updateMcpServer', 'acceptMcpTools'],
  credential_not_found: ['getCredential', 'authorizeCredential', 'deleteCredential'],
  mcp_server_name_taken: ['registerMcpServer', 'updateMcpServer'],
  mcp_server_url_taken: ['registerMcpServer'],
  mcp_server_not_found: ['getMcpServer', 'updateMcpServer', 'probeMcpServer', 'deleteMcpServer', 'createSession'],
  unknown_model: ['createSession', 'forkSession'],
  fork_too_large: ['forkSession'],
  fork_limit_reached: ['forkSession'],
  insufficient_scope: ['createSession', 'sendMessage'],
  validation_error: ['createSession', 'updateSession', 'uploadFile', 'forkSession'],
  metadata_too_large: ['updateSession'],
  session_not_found: [
    ...[
      'sendAnswers',
      'getSession',
      'updateSession',
      'deleteSession',
      'sendMessage',
      'cancelTurn',
      'listEvents',
      'getEvent',
      'listTurns',
      'getTurn',
      'streamEvents',
      'forkSession',
    ],
  ],
  turn_not_found: ['getTurn', 'forkSession'],
  workspace_not_found: ['listWorkspaceFiles', 'workspaceContent', 'workspaceArchive'],
  workspace_file_not_found: ['listWorkspaceFiles', 'workspaceContent', 'workspaceArchive'],
  event_not_found: ['getEvent', 'streamEvents'],
  replay_too_long: ['streamEvents'],
  session_running: ['deleteSession', 'sendMessage', 'forkSession'],
  invalid_webhook_url: ['createWebhook', 'updateWebhook'],
  webhook_limit_reached: ['createWebhook'],
  webhook_disabled: ['testWebhook', 'retryWebhookDelivery', 'retryFailedWebhookDeliveries'],
  webhook_not_found: [
    ...['getWebhook', 'updateWebhook', 'deleteWebhook', 'rotateWebhookSecret', 'testWebhook'],
    ...['listWebhookDeliveries', 'retryWebhookDelivery'],
  ],
  delivery_not_found: ['retryWebhookDelivery'],
  schedule_limit_reached: ['createSchedule', 'updateSchedule'],
  schedule_not_found: [
    ...['getSchedule', 'updateSchedule', 'deleteSchedule', 'pauseSchedule', 'resumeSchedule', 'runSchedule'],
    'listScheduleRuns',
  ],
  file_not_found: ['getFile', 'downloadFile', 'deleteFile', 'sendMessage'],
  too_many_running_turns: ['sendMessage'],
  invalid_cursor: ['listEvents'],
  file_too_large: ['uploadFile'],
  content_too_large: ['uploadFile'],
  bad_request: ['uploadFile'],
  invalid_filename: ['uploadFile'],
  storage_error: ['uploadFile', 'downloadFile'],
};

/** Permissions for what a request names besides its path (docs/interface.md). */
const NAMED = [
  'createSession needs mcp_servers:read',
  'sendMessage needs files:read',
  'sendMessage needs skills:read',
  'callMcpTool needs sessions:write',
  'createSchedule needs mcp_servers:read',
  'createSchedule needs files:read',
  'createSchedule needs skills:read',
  'updateSchedule needs files:read',
  'updateSchedule needs skills:read',
];

/** Limits of docs/limits.md; a test that goes to one and beyond it says so with `reachedLimit`. */
export const LIMITS = [
  'changed input: 256 KiB as compact JSON',
  'remembered approvals: 100',
  'copies by session tokens: 20',
  'rate: 60 requests a minute',
  'skill package: 50 MiB',
  'skill package: 25 MiB a file',
  'skill package: 200 MiB in all',
  'skill package: 500 entries',
  'SKILL.md: 32 KiB',
  'file: 100 MiB',
  'file name: 1 character',
  'file name: 255 characters',
  'link: 1 hour',
  'page: 1 item',
  'page: 100 items',
  'MCP server name: 1 character',
  'MCP server name: 64 characters',
  'MCP tools kept: 2,000',
  'MCP tool name: 128 characters',
  'MCP tool description: 500 characters',
  'allowed_tools: 2,000 names',
  'instruction: 100,000 characters',
  'MCP servers of a session: 10',
  'metadata: 16 pairs',
  'metadata key: 1 character',
  'metadata key: 64 characters',
  'metadata value: 512 characters',
  'metadata patch: 32 keys',
  'metadata after a patch: 16 pairs',
  'metadata filters: 4',
  'search: 200 characters',
  'preview: 120 characters',
  'custom tools: 64',
  'input_schema: 32 KiB',
  'answers: 50 events',
  'deny_message: 1,000 characters',
  'custom tool result: 100,000 characters',
  'actor: 128 characters',
  'running turns of a project',
  'waiting messages of a session: 20',
  'webhooks of a project: 10',
  'retry-failed: 10,000 deliveries',
  'schedules of a project: 100 that have not ended',
  'schedule name: 1 character',
  'schedule name: 128 characters',
  'cron: 256 characters',
  'headers of a part: 16 KiB',
  'Content-Disposition: 8 KiB',
  'Content-Disposition: 16 parameters',
  'boundary: 70 characters',
  'JSON values of POST sessions: 100,000',
  'JSON values of another body: 10,000',
  'JSON values of a tool’s schema: 4,000',
  'JSON values of an MCP tool’s schema: 4,000',
  'reads of a project at once: 16',
  'reads of a project prepared at once: 2',
  'answers to reads of a project: 16 MiB a second',
  'unread answers: 64 MiB',
  'downloads from workspaces of a project at once: 8',
  'tried tools of a project at once: 4',
  'storage of a project: 20 GiB',
  'stream of the session: 10,000 stored events',
  'key name: 255 characters',
  'keys of a project: 1,000 that can be used',
  'approver groups of a key: 20',
  'session token: 60 to 3,600 s',
  'wait: 1 to 86,400 s',
  'agents of a session: 20',
  'open child turns of a turn: 16',
  'child turns of a turn: 50',
  'session tokens: 256 MiB of uploads',
  'session tokens: 20 writes a minute',
  'session tokens: 120 reads a minute',
  'session tokens: 10 streams',
] as const;

/** One middleware answers with these, whatever the operation: one operation stands for all. */
const SHARED = new Set<ErrorType>(['internal_error', 'service_unavailable', 'request_timeout', 'too_many_requests']);

/**
 * A request without a body is the same each time: its key cannot come with other content. The query of the OAuth callback
 * is of optional texts alone; a page shows what is wrong.
 */
const IMPOSSIBLE = new Set([
  'continueTurn answers idempotency_key_reused',
  'rotateWebhookSecret answers idempotency_key_reused',
  'testWebhook answers idempotency_key_reused',
  'retryWebhookDelivery answers idempotency_key_reused',
  'retryFailedWebhookDeliveries answers idempotency_key_reused',
  'pauseSchedule answers idempotency_key_reused',
  'resumeSchedule answers idempotency_key_reused',
  'runSchedule answers idempotency_key_reused',
  'mcpOauthCallback answers validation_error',
]);

/** Every row of operations × successes, errors, permissions and projects, and every limit. */
export function allRows(): string[] {
  const rows = routes.flatMap((route) => {
    const [, path, permission, , { id, success }] = route;
    const isPossible = (type: ErrorType): boolean => !IMPOSSIBLE.has(`${id} answers ${type}`);
    const errors = [...errorsByStatus(route).values()].flat().filter(isPossible);
    return [
      `${id} answers ${success.status}`,
      ...errors.map((type) => (SHARED.has(type) ? `any operation answers ${type}` : `${id} answers ${type}`)),
      ...(permission === null ? [] : [`${id} needs ${permission}`]),
      ...(permission !== null && path.includes('{') ? [`${id} does not see other projects`] : []),
    ];
  });
  const specified = Object.entries(SPECIFIED).flatMap(([type, ids]) => ids.map((id) => `${id} answers ${type}`));
  const limits = LIMITS.map((limit) => `limit ${limit}`);
  return [...new Set([...rows, ...specified, ...NAMED, ...limits])];
}

const written = new Set<string>();

/** Notes that a test has reached a row. In a run that does not ask for it, nothing happens. */
export function reached(row: string): void {
  const folder = process.env.REACHED_ROWS;
  if (folder === undefined || written.has(row)) return;
  written.add(row);
  mkdirSync(folder, { recursive: true });
  appendFileSync(join(folder, `${process.pid}.txt`), `${row}\n`);
}

/** Notes a limit that was tried at its bound and one beyond. */
export const reachedLimit = (limit: (typeof LIMITS)[number]): void => reached(`limit ${limit}`);

/** Notes what a response shows: the operation's success, its error type, the permission that was missing. */
export function reachedBy(method: string, path: string, status: number, body: unknown): void {
  const { pathname } = new URL(path, 'http://host');
  const route = routes.find(
    ([verb, template]) => verb === method && new RegExp(`^${template.replaceAll(/\{\w+\}/g, '[^/]+')}$`).test(pathname),
  );
  if (route === undefined) return;
  const { id, success } = route[4];
  if (status === success.status) reached(`${id} answers ${status}`);
  const { error } = (body ?? {}) as { error?: { type: ErrorType; details?: { required?: string } } | null };
  // A turn has a field of this name.
  if (status < 400 || error == null) return;
  reached(SHARED.has(error.type) ? `any operation answers ${error.type}` : `${id} answers ${error.type}`);
  if (error.type === 'insufficient_scope') reached(`${id} needs ${error.details!.required}`);
}
