import { createAgent } from './agents/create.js';
import { deleteAgent } from './agents/delete.js';
import { getAgent } from './agents/get.js';
import { listAgents } from './agents/list.js';
import { updateAgent } from './agents/update.js';
import { getAgentVersion, listAgentVersions } from './agents/versions.js';
import { createErasure } from './erasures/create.js';
import { getErasure } from './erasures/get.js';
import { listErasures } from './erasures/list.js';
import { getEvent } from './events/get.js';
import { listEvents } from './events/history.js';
import { streamEvents } from './events/stream.js';
import { fileContent } from './files/content.js';
import { deleteFile } from './files/delete.js';
import { downloadFile } from './files/download.js';
import { getFile } from './files/get.js';
import { getDownloadLink } from './files/link.js';
import { listFiles } from './files/list.js';
import { uploadFile } from './files/upload.js';
import { BY_ITSELF, makes, onlyWith, RECORDED } from './http/core/audit.js';
import type { Route } from './http/core/operation.js';
import { acceptMcpTools } from './mcp-servers/accept-tools.js';
import { authorizeMcpServer } from './mcp-servers/authorize.js';
import { mcpOauthCallback } from './mcp-servers/oauth-callback.js';
import { getChangedMcpTool } from './mcp-servers/changed-tool.js';
import { authorizeUserCredential } from './mcp-servers/credentials/authorize.js';
import { deleteCredentialsOfUser } from './mcp-servers/credentials/delete-all.js';
import { deleteUserCredential } from './mcp-servers/credentials/delete.js';
import { getUserCredential } from './mcp-servers/credentials/get.js';
import { listUserCredentials } from './mcp-servers/credentials/list.js';
import { putUserCredential } from './mcp-servers/credentials/put.js';
import { authorizeSession } from './sessions/authorize.js';
import { deleteMcpServer } from './mcp-servers/delete.js';
import { getMcpServer } from './mcp-servers/get.js';
import { callMcpTool } from './mcp-servers/call-tool.js';
import { listMcpServerTools } from './mcp-servers/list-tools.js';
import { listMcpServers } from './mcp-servers/list.js';
import { probeMcpServer } from './mcp-servers/probe.js';
import { registerMcpServer } from './mcp-servers/register.js';
import { updateMcpServer } from './mcp-servers/update.js';
import { listAuditEntries } from './audit-log/list.js';
import { createKey } from './keys/create.js';
import { getKey } from './keys/get.js';
import { listKeys } from './keys/list.js';
import { revokeKey } from './keys/revoke.js';
import { updateKey } from './keys/update.js';
import { memoryContent } from './memories/content.js';
import { createMemory } from './memories/create.js';
import { deleteMemories } from './memories/delete-all.js';
import { deleteMemoryFiles } from './memories/delete-files.js';
import { deleteMemory } from './memories/delete.js';
import { getMemory } from './memories/get.js';
import { listMemoryFiles } from './memories/list-files.js';
import { listMemoryVersions } from './memories/list-versions.js';
import { listMemories } from './memories/list.js';
import { writeMemoryFile } from './memories/write-file.js';
import { listModels } from './models/list.js';
import { createSchedule } from './schedules/create.js';
import { deleteSchedule } from './schedules/delete.js';
import { getSchedule } from './schedules/get.js';
import { listSchedules } from './schedules/list.js';
import { pauseSchedule } from './schedules/pause.js';
import { resumeSchedule } from './schedules/resume.js';
import { runSchedule } from './schedules/run.js';
import { listScheduleRuns } from './schedules/runs.js';
import { updateSchedule } from './schedules/update.js';
import { cancelSessionTurn } from './sessions/cancel.js';
import { continueSessionTurn } from './sessions/continue.js';
import { createSessionToken } from './sessions/create-token.js';
import { createSession } from './sessions/create.js';
import { deleteSession } from './sessions/delete.js';
import { forkSession } from './sessions/fork.js';
import { getSession } from './sessions/get.js';
import { listQueue } from './sessions/list-queue.js';
import { listSessions } from './sessions/list.js';
import { releaseSessionQueue } from './sessions/release-queue.js';
import { sendAnswers } from './sessions/send-answers.js';
import { sendMessage } from './sessions/send-message.js';
import { updateSession } from './sessions/update.js';
import { deleteSkill } from './skills/delete.js';
import { skillContent } from './skills/content.js';
import { getSkill } from './skills/get.js';
import { listFilesOfSkill } from './skills/list-files.js';
import { listSkills } from './skills/list.js';
import { uploadSkill } from './skills/upload.js';
import { withdrawMessage } from './sessions/withdraw-message.js';
import { getTurn } from './turns/get.js';
import { listTurns } from './turns/list.js';
import { listTimelineEntries } from './turns/timeline.js';
import { workspaceArchive } from './workspace/archive.js';
import { workspaceContent } from './workspace/content.js';
import { listWorkspaceFiles } from './workspace/list-files.js';
import { listUsage } from './usage/list.js';
import { createWebhook } from './webhooks/create.js';
import { deleteWebhook } from './webhooks/delete.js';
import { listWebhookDeliveries } from './webhooks/deliveries.js';
import { getWebhook } from './webhooks/get.js';
import { listWebhooks } from './webhooks/list.js';
import { retryFailedWebhookDeliveries } from './webhooks/retry-failed.js';
import { retryWebhookDelivery } from './webhooks/retry.js';
import { rotateWebhookSecret } from './webhooks/rotate-secret.js';
import { testWebhook } from './webhooks/test.js';
import { updateWebhook } from './webhooks/update.js';

/** Changes of a session that are recorded. Metadata are what conversations are made of. */
const SESSION_FIELDS = ['budget', 'agent', 'forget_approvals'];
const KEY_DETAILS = ['scopes', 'approver_groups'];

const LIMITED = true;
const UNLIMITED = false;

/**
 * Every operation, in the order of the documentation. If the permission is null, no key is required (outside of /v1). Then comes
 * the scope with which a session token may do this in its own session (docs/decisions.md "Session tokens"); null: none may. The last
 * column is what a success leaves in the audit log; null for reads and for what conversations are made of.
 */
// oxfmt-ignore
export const routes: Route[] = [
  ['POST',   '/v1/skills',                                                'skills:write',      LIMITED,   uploadSkill,                  null,     makes('skill')],
  ['GET',    '/v1/skills',                                                'skills:read',       UNLIMITED, listSkills,                   null,     null],
  ['GET',    '/v1/skills/{skill_id}',                                     'skills:read',       UNLIMITED, getSkill,                     null,     null],
  ['GET',    '/v1/skills/{skill_id}/files',                               'skills:read',       UNLIMITED, listFilesOfSkill,             null,     null],
  ['GET',    '/v1/skills/{skill_id}/content',                             'skills:read',       UNLIMITED, skillContent,                 null,     null],
  ['DELETE', '/v1/skills/{skill_id}',                                     'skills:write',      LIMITED,   deleteSkill,                  null,     RECORDED],
  ['POST',   '/v1/mcp-servers',                                           'mcp_servers:write', LIMITED,   registerMcpServer,            null,     makes('mcp_server')],
  ['GET',    '/v1/mcp-servers',                                           'mcp_servers:read',  UNLIMITED, listMcpServers,               null,     null],
  ['GET',    '/v1/mcp-servers/{mcp_server_id}',                           'mcp_servers:read',  UNLIMITED, getMcpServer,                 null,     null],
  ['PATCH',  '/v1/mcp-servers/{mcp_server_id}',                           'mcp_servers:write', LIMITED,   updateMcpServer,              null,     RECORDED],
  ['POST',   '/v1/mcp-servers/{mcp_server_id}/probe',                     'mcp_servers:write', LIMITED,   probeMcpServer,               null,     RECORDED],
  ['POST',   '/v1/mcp-servers/{mcp_server_id}/authorize',                 'mcp_servers:write', LIMITED,   authorizeMcpServer,           null,     RECORDED],
  ['GET',    '/v1/mcp-servers/oauth/callback',                            null,                UNLIMITED, mcpOauthCallback,             null,     BY_ITSELF],
  ['POST',   '/v1/mcp-servers/{mcp_server_id}/accept-tools',              'mcp_servers:write', LIMITED,   acceptMcpTools,               null,     RECORDED],
  ['GET',    '/v1/mcp-servers/{mcp_server_id}/changed-tools/{tool_name}', 'mcp_servers:read',  UNLIMITED, getChangedMcpTool,            null,     null],
  ['GET',    '/v1/mcp-servers/{mcp_server_id}/tools',                     'mcp_servers:read',  UNLIMITED, listMcpServerTools,           null,     null],
  ['POST',   '/v1/mcp-servers/{mcp_server_id}/tools/{tool_name}/call',    'mcp_servers:write', LIMITED,   callMcpTool,                  null,     RECORDED],
  ['DELETE', '/v1/mcp-servers/{mcp_server_id}',                           'mcp_servers:write', LIMITED,   deleteMcpServer,              null,     RECORDED],
  ['POST',   '/v1/credentials',                                           'mcp_servers:write', LIMITED,   putUserCredential,            null,     makes('credential')],
  ['GET',    '/v1/credentials',                                           'mcp_servers:read',  UNLIMITED, listUserCredentials,          null,     null],
  ['GET',    '/v1/credentials/{credential_id}',                           'mcp_servers:read',  UNLIMITED, getUserCredential,            null,     null],
  ['POST',   '/v1/credentials/{credential_id}/authorize',                 'mcp_servers:write', LIMITED,   authorizeUserCredential,      null,     RECORDED],
  ['DELETE', '/v1/credentials/{credential_id}',                           'mcp_servers:write', LIMITED,   deleteUserCredential,         null,     RECORDED],
  ['DELETE', '/v1/credentials',                                           'mcp_servers:write', LIMITED,   deleteCredentialsOfUser,      null,     RECORDED],
  ['GET',    '/v1/models',                                                'sessions:read',     UNLIMITED, listModels,                   null,     null],
  ['POST',   '/v1/agents',                                                'agents:write',      LIMITED,   createAgent,                  null,     makes('agent')],
  ['GET',    '/v1/agents',                                                'agents:read',       UNLIMITED, listAgents,                   null,     null],
  ['GET',    '/v1/agents/{agent_id}',                                     'agents:read',       UNLIMITED, getAgent,                     null,     null],
  ['PATCH',  '/v1/agents/{agent_id}',                                     'agents:write',      LIMITED,   updateAgent,                  null,     RECORDED],
  ['DELETE', '/v1/agents/{agent_id}',                                     'agents:write',      LIMITED,   deleteAgent,                  null,     RECORDED],
  ['GET',    '/v1/agents/{agent_id}/versions',                            'agents:read',       UNLIMITED, listAgentVersions,            null,     null],
  ['GET',    '/v1/agents/{agent_id}/versions/{version}',                  'agents:read',       UNLIMITED, getAgentVersion,              null,     null],
  ['POST',   '/v1/sessions',                                              'sessions:write',    LIMITED,   createSession,                null,     null],
  ['GET',    '/v1/sessions',                                              'sessions:read',     UNLIMITED, listSessions,                 null,     null],
  ['GET',    '/v1/sessions/{session_id}',                                 'sessions:read',     UNLIMITED, getSession,                   'read',   null],
  ['PATCH',  '/v1/sessions/{session_id}',                                 'sessions:write',    LIMITED,   updateSession,                null,     onlyWith(...SESSION_FIELDS)],
  ['DELETE', '/v1/sessions/{session_id}',                                 'sessions:write',    LIMITED,   deleteSession,                null,     RECORDED],
  ['POST',   '/v1/sessions/{session_id}/messages',                        'sessions:write',    LIMITED,   sendMessage,                  'send',   null],
  ['POST',   '/v1/sessions/{session_id}/cancel',                          'sessions:write',    LIMITED,   cancelSessionTurn,            'cancel', null],
  ['POST',   '/v1/sessions/{session_id}/continue',                        'sessions:write',    LIMITED,   continueSessionTurn,          'send',   null],
  ['POST',   '/v1/sessions/{session_id}/fork',                            'sessions:write',    LIMITED,   forkSession,                  'fork',   null],
  ['POST',   '/v1/sessions/{session_id}/authorize',                       'sessions:write',    LIMITED,   authorizeSession,             'answer', RECORDED],
  ['GET',    '/v1/sessions/{session_id}/queue',                           'sessions:read',     UNLIMITED, listQueue,                    'read',   null],
  ['POST',   '/v1/sessions/{session_id}/queue/release',                   'sessions:write',    LIMITED,   releaseSessionQueue,          'send',   null],
  ['DELETE', '/v1/sessions/{session_id}/queue/{event_id}',                'sessions:write',    LIMITED,   withdrawMessage,              'send',   null],
  ['POST',   '/v1/sessions/{session_id}/events',                          'sessions:write',    LIMITED,   sendAnswers,                  'answer', BY_ITSELF],
  ['GET',    '/v1/sessions/{session_id}/events',                          'sessions:read',     UNLIMITED, listEvents,                   'read',   null],
  ['GET',    '/v1/sessions/{session_id}/events/stream',                   'sessions:read',     UNLIMITED, streamEvents,                 'read',   null],
  ['GET',    '/v1/sessions/{session_id}/events/{event_id}',               'sessions:read',     UNLIMITED, getEvent,                     'read',   null],
  ['GET',    '/v1/sessions/{session_id}/turns',                           'sessions:read',     UNLIMITED, listTurns,                    'read',   null],
  ['GET',    '/v1/sessions/{session_id}/turns/{turn_id}',                 'sessions:read',     UNLIMITED, getTurn,                      'read',   null],
  ['GET',    '/v1/sessions/{session_id}/turns/{turn_id}/timeline',        'sessions:read',     UNLIMITED, listTimelineEntries,          'read',   null],
  ['POST',   '/v1/sessions/{session_id}/tokens',                          'sessions:write',    LIMITED,   createSessionToken,           null,     onlyWith('approver_groups')],
  ['GET',    '/v1/sessions/{session_id}/workspace/files',                 'files:read',        UNLIMITED, listWorkspaceFiles,           'workspace', null],
  ['GET',    '/v1/sessions/{session_id}/workspace/content',               'files:read',        UNLIMITED, workspaceContent,             'workspace', null],
  ['GET',    '/v1/sessions/{session_id}/workspace/archive',               'files:read',        UNLIMITED, workspaceArchive,             'workspace', null],
  ['GET',    '/v1/usage',                                                 'sessions:read',     UNLIMITED, listUsage,                    null,     null],
  ['POST',   '/v1/files',                                                 'files:write',       LIMITED,   uploadFile,                   'files',  null],
  ['GET',    '/v1/files',                                                 'files:read',        UNLIMITED, listFiles,                    null,     null],
  ['GET',    '/v1/files/{file_id}',                                       'files:read',        UNLIMITED, getFile,                      'files',  null],
  ['GET',    '/v1/files/{file_id}/content',                               'files:read',        UNLIMITED, downloadFile,                 'files',  null],
  ['GET',    '/v1/files/{file_id}/link',                                  'files:read',        UNLIMITED, getDownloadLink,              'files',  null],
  ['DELETE', '/v1/files/{file_id}',                                       'files:write',       LIMITED,   deleteFile,                   null,     RECORDED],
  ['POST',   '/v1/webhooks',                                              'webhooks:write',    LIMITED,   createWebhook,                null,     makes('webhook')],
  ['GET',    '/v1/webhooks',                                              'webhooks:read',     UNLIMITED, listWebhooks,                 null,     null],
  ['GET',    '/v1/webhooks/{webhook_id}',                                 'webhooks:read',     UNLIMITED, getWebhook,                   null,     null],
  ['PATCH',  '/v1/webhooks/{webhook_id}',                                 'webhooks:write',    LIMITED,   updateWebhook,                null,     RECORDED],
  ['DELETE', '/v1/webhooks/{webhook_id}',                                 'webhooks:write',    LIMITED,   deleteWebhook,                null,     RECORDED],
  ['POST',   '/v1/webhooks/{webhook_id}/rotate-secret',                   'webhooks:write',    LIMITED,   rotateWebhookSecret,          null,     RECORDED],
  ['POST',   '/v1/webhooks/{webhook_id}/test',                            'webhooks:write',    LIMITED,   testWebhook,                  null,     makes('delivery')],
  ['GET',    '/v1/webhooks/{webhook_id}/deliveries',                      'webhooks:read',     UNLIMITED, listWebhookDeliveries,        null,     null],
  ['POST',   '/v1/webhooks/{webhook_id}/deliveries/{delivery_id}/retry',  'webhooks:write',    LIMITED,   retryWebhookDelivery,         null,     RECORDED],
  ['POST',   '/v1/webhooks/{webhook_id}/retry-failed',                    'webhooks:write',    LIMITED,   retryFailedWebhookDeliveries, null,     RECORDED],
  ['POST',   '/v1/schedules',                                             'sessions:write',    LIMITED,   createSchedule,               null,     makes('schedule')],
  ['GET',    '/v1/schedules',                                             'sessions:read',     UNLIMITED, listSchedules,                null,     null],
  ['GET',    '/v1/schedules/{schedule_id}',                               'sessions:read',     UNLIMITED, getSchedule,                  null,     null],
  ['PATCH',  '/v1/schedules/{schedule_id}',                               'sessions:write',    LIMITED,   updateSchedule,               null,     RECORDED],
  ['DELETE', '/v1/schedules/{schedule_id}',                               'sessions:write',    LIMITED,   deleteSchedule,               null,     RECORDED],
  ['POST',   '/v1/schedules/{schedule_id}/pause',                         'sessions:write',    LIMITED,   pauseSchedule,                null,     RECORDED],
  ['POST',   '/v1/schedules/{schedule_id}/resume',                        'sessions:write',    LIMITED,   resumeSchedule,               null,     RECORDED],
  ['POST',   '/v1/schedules/{schedule_id}/run',                           'sessions:write',    LIMITED,   runSchedule,                  null,     RECORDED],
  ['GET',    '/v1/schedules/{schedule_id}/runs',                          'sessions:read',     UNLIMITED, listScheduleRuns,             null,     null],
  ['POST',   '/v1/keys',                                                  'keys:write',        LIMITED,   createKey,                    null,     makes('key', KEY_DETAILS)],
  ['GET',    '/v1/keys',                                                  'keys:read',         UNLIMITED, listKeys,                     null,     null],
  ['GET',    '/v1/keys/{key_id}',                                         'keys:read',         UNLIMITED, getKey,                       null,     null],
  ['PATCH',  '/v1/keys/{key_id}',                                         'keys:write',        LIMITED,   updateKey,                    null,     { details: KEY_DETAILS }],
  ['DELETE', '/v1/keys/{key_id}',                                         'keys:write',        LIMITED,   revokeKey,                    null,     RECORDED],
  ['GET',    '/v1/audit-log',                                             'audit:read',        UNLIMITED, listAuditEntries,             null,     null],
  ['POST',   '/v1/memories',                                              'memories:write',    LIMITED,   createMemory,                 null,     makes('memory')],
  ['GET',    '/v1/memories',                                              'memories:read',     UNLIMITED, listMemories,                 null,     null],
  ['DELETE', '/v1/memories',                                              'memories:write',    LIMITED,   deleteMemories,               null,     RECORDED],
  ['GET',    '/v1/memories/{memory_id}',                                  'memories:read',     UNLIMITED, getMemory,                    null,     null],
  ['DELETE', '/v1/memories/{memory_id}',                                  'memories:write',    LIMITED,   deleteMemory,                 null,     RECORDED],
  ['GET',    '/v1/memories/{memory_id}/files',                            'memories:read',     UNLIMITED, listMemoryFiles,              null,     null],
  ['POST',   '/v1/memories/{memory_id}/files',                            'memories:write',    LIMITED,   writeMemoryFile,              null,     RECORDED],
  ['DELETE', '/v1/memories/{memory_id}/files',                            'memories:write',    LIMITED,   deleteMemoryFiles,            null,     RECORDED],
  ['GET',    '/v1/memories/{memory_id}/content',                          'memories:read',     UNLIMITED, memoryContent,                null,     null],
  ['GET',    '/v1/memories/{memory_id}/versions',                         'memories:read',     UNLIMITED, listMemoryVersions,           null,     null],
  ['POST',   '/v1/erasures',                                              'users:erase',       LIMITED,   createErasure,                null,     makes('erasure')],
  ['GET',    '/v1/erasures',                                              'users:erase',       UNLIMITED, listErasures,                 null,     null],
  ['GET',    '/v1/erasures/{erasure_id}',                                 'users:erase',       UNLIMITED, getErasure,                   null,     null],
  ['GET',    '/files/{file_id}',                                          null,                UNLIMITED, fileContent,                  null,     null],
];
