import { type Db, IsNull, Not } from '../db/db.js';
import { McpServerEntity } from '../db/entities/mcp-servers.js';
import { violatedUniqueConstraint } from '../db/transaction.js';
import { ServiceError } from '../platform/errors.js';

/** Checks that name and url are unused in the project. The unique indexes check again when the row is written. */
export async function refuseTaken(db: Db, projectId: string, name: string, url: string): Promise<void> {
  const servers = db.getRepository(McpServerEntity);
  const ofProject = { project_id: projectId, deleted_at: IsNull() };
  if (await servers.existsBy({ ...ofProject, name })) throw nameTaken();
  if (await servers.existsBy({ ...ofProject, url })) throw urlTaken();
}

export async function refuseTakenName(db: Db, server: { id: string; project_id: string }, name: string): Promise<void> {
  const { id, project_id } = server;
  const other = { project_id, deleted_at: IsNull(), name, id: Not(id) };
  if (await db.getRepository(McpServerEntity).existsBy(other)) throw nameTaken();
}

/** Runs a write and converts violations of the unique indexes. */
export async function orTaken<T>(write: Promise<T>): Promise<T> {
  try {
    return await write;
  } catch (error) {
    const constraint = violatedUniqueConstraint(error);
    if (constraint === 'mcp_servers_name') throw nameTaken();
    if (constraint === 'mcp_servers_url') throw urlTaken();
    throw error;
  }
}

function nameTaken(): ServiceError {
  return new ServiceError('mcp_server_name_taken', 'Another MCP server of the project has this name.');
}

function urlTaken(): ServiceError {
  return new ServiceError('mcp_server_url_taken', 'Another MCP server of the project has this url.');
}
