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
import type { Route } from './http/core/operation.js';
import { acceptMcpTools } from './mcp-servers/accept-tools.js';
import { authorizeMcpServer } from './mcp-servers/authorize.js';
import { mcpOauthCallback } from './mcp-servers/oauth-callback.js';
import { getChangedMcpTool } from './mcp-servers/changed-tool.js';
import { deleteMcpServer } from './mcp-servers/delete.js';
import { getMcpServer } from './mcp-servers/get.js';
import { listMcpServers } from './mcp-servers/list.js';
import { probeMcpServer } from './mcp-servers/probe.js';
import { registerMcpServer } from './mcp-servers/register.js';
import { updateMcpServer } from './mcp-servers/update.js';
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
import { getSkill } from './skills/get.js';
import { listSkills } from './skills/list.js';
import { uploadSkill } from './skills/upload.js';
import { withdrawMessage } from './sessions/withdraw-message.js';
import { getTurn } from './turns/get.js';
import { listTurns } from './turns/list.js';
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

const LIMITED = true;
const UNLIMITED = false;

/** Every operation, in the order of the documentation. If the permission is null, no key is required (outside of /v1). */
// oxfmt-ignore
export const routes: Route[] = [
  ['POST',   '/v1/skills',                                                'skills:write',      LIMITED,   uploadSkill],
  ['GET',    '/v1/skills',                                                'skills:read',       UNLIMITED, listSkills],
  ['GET',    '/v1/skills/{skill_id}',                                     'skills:read',       UNLIMITED, getSkill],
  ['DELETE', '/v1/skills/{skill_id}',                                     'skills:write',      LIMITED,   deleteSkill],
  ['POST',   '/v1/mcp-servers',                                           'mcp_servers:write', LIMITED,   registerMcpServer],
  ['GET',    '/v1/mcp-servers',                                           'mcp_servers:read',  UNLIMITED, listMcpServers],
  ['GET',    '/v1/mcp-servers/{mcp_server_id}',                           'mcp_servers:read',  UNLIMITED, getMcpServer],
  ['PATCH',  '/v1/mcp-servers/{mcp_server_id}',                           'mcp_servers:write', LIMITED,   updateMcpServer],
  ['POST',   '/v1/mcp-servers/{mcp_server_id}/probe',                     'mcp_servers:write', LIMITED,   probeMcpServer],
  ['POST',   '/v1/mcp-servers/{mcp_server_id}/authorize',                 'mcp_servers:write', LIMITED,   authorizeMcpServer],
  ['GET',    '/v1/mcp-servers/oauth/callback',                            null,                UNLIMITED, mcpOauthCallback],
  ['POST',   '/v1/mcp-servers/{mcp_server_id}/accept-tools',              'mcp_servers:write', LIMITED,   acceptMcpTools],
  ['GET',    '/v1/mcp-servers/{mcp_server_id}/changed-tools/{tool_name}', 'mcp_servers:read',  UNLIMITED, getChangedMcpTool],
  ['DELETE', '/v1/mcp-servers/{mcp_server_id}',                           'mcp_servers:write', LIMITED,   deleteMcpServer],
  ['GET',    '/v1/models',                                                'sessions:read',     UNLIMITED, listModels],
  ['POST',   '/v1/sessions',                                              'sessions:write',    LIMITED,   createSession],
  ['GET',    '/v1/sessions',                                              'sessions:read',     UNLIMITED, listSessions],
  ['GET',    '/v1/sessions/{session_id}',                                 'sessions:read',     UNLIMITED, getSession],
  ['PATCH',  '/v1/sessions/{session_id}',                                 'sessions:write',    LIMITED,   updateSession],
  ['DELETE', '/v1/sessions/{session_id}',                                 'sessions:write',    LIMITED,   deleteSession],
  ['POST',   '/v1/sessions/{session_id}/messages',                        'sessions:write',    LIMITED,   sendMessage],
  ['POST',   '/v1/sessions/{session_id}/cancel',                          'sessions:write',    LIMITED,   cancelSessionTurn],
  ['POST',   '/v1/sessions/{session_id}/continue',                        'sessions:write',    LIMITED,   continueSessionTurn],
  ['POST',   '/v1/sessions/{session_id}/fork',                            'sessions:write',    LIMITED,   forkSession],
  ['GET',    '/v1/sessions/{session_id}/queue',                           'sessions:read',     UNLIMITED, listQueue],
  ['POST',   '/v1/sessions/{session_id}/queue/release',                   'sessions:write',    LIMITED,   releaseSessionQueue],
  ['DELETE', '/v1/sessions/{session_id}/queue/{event_id}',                'sessions:write',    LIMITED,   withdrawMessage],
  ['POST',   '/v1/sessions/{session_id}/events',                          'sessions:write',    LIMITED,   sendAnswers],
  ['GET',    '/v1/sessions/{session_id}/events',                          'sessions:read',     UNLIMITED, listEvents],
  ['GET',    '/v1/sessions/{session_id}/events/stream',                   'sessions:read',     UNLIMITED, streamEvents],
  ['GET',    '/v1/sessions/{session_id}/events/{event_id}',               'sessions:read',     UNLIMITED, getEvent],
  ['GET',    '/v1/sessions/{session_id}/turns',                           'sessions:read',     UNLIMITED, listTurns],
  ['GET',    '/v1/sessions/{session_id}/turns/{turn_id}',                 'sessions:read',     UNLIMITED, getTurn],
  ['GET',    '/v1/usage',                                                 'sessions:read',     UNLIMITED, listUsage],
  ['POST',   '/v1/files',                                                 'files:write',       LIMITED,   uploadFile],
  ['GET',    '/v1/files',                                                 'files:read',        UNLIMITED, listFiles],
  ['GET',    '/v1/files/{file_id}',                                       'files:read',        UNLIMITED, getFile],
  ['GET',    '/v1/files/{file_id}/content',                               'files:read',        UNLIMITED, downloadFile],
  ['GET',    '/v1/files/{file_id}/link',                                  'files:read',        UNLIMITED, getDownloadLink],
  ['DELETE', '/v1/files/{file_id}',                                       'files:write',       LIMITED,   deleteFile],
  ['POST',   '/v1/webhooks',                                              'webhooks:write',    LIMITED,   createWebhook],
  ['GET',    '/v1/webhooks',                                              'webhooks:read',     UNLIMITED, listWebhooks],
  ['GET',    '/v1/webhooks/{webhook_id}',                                 'webhooks:read',     UNLIMITED, getWebhook],
  ['PATCH',  '/v1/webhooks/{webhook_id}',                                 'webhooks:write',    LIMITED,   updateWebhook],
  ['DELETE', '/v1/webhooks/{webhook_id}',                                 'webhooks:write',    LIMITED,   deleteWebhook],
  ['POST',   '/v1/webhooks/{webhook_id}/rotate-secret',                   'webhooks:write',    LIMITED,   rotateWebhookSecret],
  ['POST',   '/v1/webhooks/{webhook_id}/test',                            'webhooks:write',    LIMITED,   testWebhook],
  ['GET',    '/v1/webhooks/{webhook_id}/deliveries',                      'webhooks:read',     UNLIMITED, listWebhookDeliveries],
  ['POST',   '/v1/webhooks/{webhook_id}/deliveries/{delivery_id}/retry',  'webhooks:write',    LIMITED,   retryWebhookDelivery],
  ['POST',   '/v1/webhooks/{webhook_id}/retry-failed',                    'webhooks:write',    LIMITED,   retryFailedWebhookDeliveries],
  ['POST',   '/v1/schedules',                                             'sessions:write',    LIMITED,   createSchedule],
  ['GET',    '/v1/schedules',                                             'sessions:read',     UNLIMITED, listSchedules],
  ['GET',    '/v1/schedules/{schedule_id}',                               'sessions:read',     UNLIMITED, getSchedule],
  ['PATCH',  '/v1/schedules/{schedule_id}',                               'sessions:write',    LIMITED,   updateSchedule],
  ['DELETE', '/v1/schedules/{schedule_id}',                               'sessions:write',    LIMITED,   deleteSchedule],
  ['POST',   '/v1/schedules/{schedule_id}/pause',                         'sessions:write',    LIMITED,   pauseSchedule],
  ['POST',   '/v1/schedules/{schedule_id}/resume',                        'sessions:write',    LIMITED,   resumeSchedule],
  ['POST',   '/v1/schedules/{schedule_id}/run',                           'sessions:write',    LIMITED,   runSchedule],
  ['GET',    '/v1/schedules/{schedule_id}/runs',                          'sessions:read',     UNLIMITED, listScheduleRuns],
  ['GET',    '/files/{file_id}',                                          null,                UNLIMITED, fileContent],
];
