import { FileEntity } from './files.js';
import { McpOauthEntity } from './mcp-oauth.js';
import { McpServerEntity } from './mcp-servers.js';
import { ApiKeyEntity, ProjectEntity } from './projects.js';
import { SessionEntity } from './sessions.js';
import { SkillEntity } from './skills.js';
import { WebhookEntity } from './webhooks.js';

/**
 * The tables that clients manage. All other tables are written by conditional statements that an entity cannot express,
 * and their rows are typed beside the statements: the tables of turns (src/turns, src/events, and mcp_toolsets in
 * src/mcp/toolsets), idempotency records, leases, and rows that maintenance removes in batches.
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
