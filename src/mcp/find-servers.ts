import type { EntityManager, SelectQueryBuilder } from 'typeorm';
import { McpServerEntity, type McpServerRow, type McpTool } from '../db/entities/mcp-servers.js';
import { readPage } from '../db/read-page.js';
import type { Db } from '../db/transaction.js';
import { ServiceError } from '../platform/errors.js';
import type { PageRequest, PageRows } from '../platform/page.js';

/** The servers of a project that are not deleted, without the schemas of their tools. */
function serversOf(db: Db, projectId: string): SelectQueryBuilder<McpServerRow> {
  return db
    .getRepository<McpServerRow>(McpServerEntity)
    .createQueryBuilder('server')
    .leftJoinAndSelect('server.oauth', 'oauth')
    .where('server.project_id = :projectId AND server.deleted_at IS NULL', { projectId });
}

/** @throws ServiceError `mcp_server_not_found` when missing, deleted or of another project */
export async function getServer(db: Db, projectId: string, id: string): Promise<McpServerRow> {
  return (await serversOf(db, projectId).andWhere('server.id = :id', { id }).getOne()) ?? mcpServerNotFound();
}

/** A server of any project; null when it is deleted. Only for requests that are authorized by another secret than an API key. */
export async function findServerById(db: Db, id: string): Promise<McpServerRow | null> {
  const query = db.getRepository<McpServerRow>(McpServerEntity).createQueryBuilder('server');
  return query
    .leftJoinAndSelect('server.oauth', 'oauth')
    .where('server.id = :id AND server.deleted_at IS NULL', { id })
    .getOne();
}

/** The same, locked until the transaction ends. @throws ServiceError `mcp_server_not_found` */
export async function lockServer(tx: EntityManager, projectId: string, id: string): Promise<McpServerRow> {
  const query = serversOf(tx, projectId).andWhere('server.id = :id', { id });
  return (await query.setLock('pessimistic_write', undefined, ['server']).getOne()) ?? mcpServerNotFound();
}

/** The servers of a session that still exist, in the order of `ids`. */
export async function findServers(db: Db, projectId: string, ids: readonly string[]): Promise<McpServerRow[]> {
  const found = await serversOf(db, projectId)
    .andWhere('server.id = ANY(:ids)', { ids: [...ids] })
    .getMany();
  return ids.flatMap((id) => found.filter((server) => server.id === id));
}

/** A page, newest first. */
export async function listServers(
  db: Db,
  projectId: string,
  { limit, after }: PageRequest,
): Promise<PageRows<McpServerRow>> {
  const { columns } = db.getRepository(McpServerEntity).metadata;
  const selected = columns.filter(({ isSelect }) => isSelect).map(({ databaseName }) => databaseName);
  return readPage<McpServerRow>(db, {
    query: `SELECT ${selected.join(', ')},
         (SELECT json_build_object('authorized_at', authorized_at) FROM mcp_oauth WHERE mcp_oauth.id = mcp_servers.id) AS oauth
       FROM mcp_servers WHERE project_id = $1 AND deleted_at IS NULL
       AND ($2::timestamptz IS NULL OR (created_at, id) < ($2, $3))
     ORDER BY created_at DESC, id DESC LIMIT $4`,
    values: [projectId, after?.[0] ?? null, after?.[1] ?? null, limit + 1],
    order: 'created_at DESC, id DESC',
    limit,
  });
}

/** The tools of the server's last probe, with schemas. */
export async function readTools(db: Db, id: string): Promise<McpTool[]> {
  const row = await db.getRepository(McpServerEntity).findOneOrFail({ select: { tools: true }, where: { id } });
  return row.tools;
}

/** Missing, deleted or of another project: one answer. */
export function mcpServerNotFound(): never {
  throw new ServiceError('mcp_server_not_found', 'There is no such MCP server.');
}
