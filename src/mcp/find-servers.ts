import type { Db, SelectQuery, Tx } from '../db/db.js';
import { McpServerEntity, type McpServerRow, type McpTool } from '../db/entities/mcp-servers.js';
import { listResources, resourcesOf, selectRows } from '../db/resources.js';
import { ServiceError } from '../platform/errors.js';
import type { PageRequest, PageRows } from '../platform/page.js';

/** The servers of a project with their authorization, without the schemas of their tools. */
function serversOf(db: Db, projectId: string): SelectQuery<McpServerRow> {
  return resourcesOf(db, McpServerEntity, projectId).leftJoinAndSelect('r.oauth', 'oauth');
}

export function findServer(db: Db, projectId: string, id: string): Promise<McpServerRow | null> {
  return serversOf(db, projectId).andWhere('r.id = :id', { id }).getOne();
}

/** @throws ServiceError `mcp_server_not_found` if it is missing, deleted or in another project */
export async function getServer(db: Db, projectId: string, id: string): Promise<McpServerRow> {
  return (await findServer(db, projectId, id)) ?? mcpServerNotFound();
}

/**
 * Finds a server in any project; null if it is deleted. Only for requests authorized by a secret other than an API key.
 */
export async function findServerById(db: Db, id: string): Promise<McpServerRow | null> {
  const query = db.getRepository<McpServerRow>(McpServerEntity).createQueryBuilder('server');
  return query
    .leftJoinAndSelect('server.oauth', 'oauth')
    .where('server.id = :id AND server.deleted_at IS NULL', { id })
    .getOne();
}

/** As `getServer`, and locks the row until the transaction ends. @throws ServiceError `mcp_server_not_found` */
export async function lockServer(tx: Tx, projectId: string, id: string): Promise<McpServerRow> {
  const query = serversOf(tx, projectId).andWhere('r.id = :id', { id });
  return (await query.setLock('pessimistic_write', undefined, ['r']).getOne()) ?? mcpServerNotFound();
}

/** Finds the servers of a session that still exist, in the order of `ids`. */
export async function findServers(db: Db, projectId: string, ids: readonly string[]): Promise<McpServerRow[]> {
  const found = await serversOf(db, projectId)
    .andWhere('r.id = ANY(:ids)', { ids: [...ids] })
    .getMany();
  return ids.flatMap((id) => found.filter((server) => server.id === id));
}

export function listServers(db: Db, projectId: string, page: PageRequest): Promise<PageRows<McpServerRow>> {
  const query = selectRows(resourcesOf(db, McpServerEntity, projectId).leftJoin('r.oauth', 'oauth'), {
    oauth: `CASE WHEN oauth.id IS NOT NULL THEN json_build_object('authorized_at', oauth.authorized_at) END`,
    page_bytes: 'r.page_bytes',
  });
  return listResources(db, query, page, { large: { bytes: 'page_bytes', columns: '*' } });
}

export async function readTools(db: Db, id: string): Promise<McpTool[]> {
  const row = await db.getRepository(McpServerEntity).findOneOrFail({ select: { tools: true }, where: { id } });
  return row.tools;
}

export function mcpServerNotFound(): never {
  throw new ServiceError('mcp_server_not_found', 'There is no such MCP server.');
}
