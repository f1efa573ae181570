import { FileEntity } from './files.js';
import { McpOauthEntity } from './mcp-oauth.js';
import { McpServerEntity } from './mcp-servers.js';
import { ApiKeyEntity, ProjectEntity } from './projects.js';
import { SessionEntity } from './sessions.js';
import { SkillEntity } from './skills.js';
import { WebhookEntity } from './webhooks.js';

/**
 * The tables that clients manage. A turn's own tables (turns, turn_servers, mcp_toolsets, events, deltas, model_steps, tool_calls) are written by
 * conditional statements that an entity cannot express; their rows are typed beside their queries.
 */
export const entities = [
  ProjectEntity,
  ApiKeyEntity,
  SessionEntity,
  SkillEntity,
  FileEntity,
  McpServerEntity,
  WebhookEntity,
  McpOauthEntity,
];
