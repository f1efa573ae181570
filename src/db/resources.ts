import type { EntityManager, EntitySchema, ObjectLiteral, SelectQueryBuilder } from 'typeorm';
import type { QueryDeepPartialEntity } from 'typeorm/query-builder/QueryPartialEntity.js';
import type { Db } from './db.js';
import { ServiceError } from '../platform/errors.js';
import type { PageRequest, PageRows } from '../platform/page.js';
import { emptyAnswers } from './answers-of-resources.js';
import { readPage, type LargeRows } from './read-page.js';
import { rawSql, runSql, sql } from './sql.js';

interface ResourceRow extends ObjectLiteral {
  id: string;
  project_id: string;
  created_at: string;
  deleted_at: string | null;
}

export function findResource<Row extends ResourceRow>(
  db: Db,
  entity: EntitySchema<Row>,
  projectId: string,
  id: string,
): Promise<Row | null> {
  return resourcesOf(db, entity, projectId).andWhere('r.id = :id', { id }).getOne();
}

export async function findResources<Row extends ResourceRow>(
  db: Db,
  entity: EntitySchema<Row>,
  projectId: string,
  ids: string[],
): Promise<Row[]> {
  if (ids.length === 0) return [];
  return resourcesOf(db, entity, projectId).andWhere('r.id = ANY(:ids)', { ids }).getMany();
}

/**
 * Finds the resources with these ids, in their order. Those that are not `isVisible` count as missing.
 * @throws what `notFound` makes of those that are missing
 */
export async function requireResources<Row extends ResourceRow>(
  db: Db,
  entity: EntitySchema<Row>,
  projectId: string,
  ids: string[],
  notFound: (missing: string[]) => ServiceError,
  isVisible: (row: Row) => boolean = () => true,
): Promise<Row[]> {
  const rows = await findResources(db, entity, projectId, ids);
  const found = new Map(rows.filter(isVisible).map((row) => [row.id, row]));
  const missing = ids.filter((id) => !found.has(id));
  if (missing.length > 0) throw notFound(missing);
  return ids.map((id) => found.get(id)!);
}

export function resourcesOf<Row extends ResourceRow>(
  db: Db,
  entity: EntitySchema<Row>,
  projectId: string,
): SelectQueryBuilder<Row> {
  return db
    .createQueryBuilder(entity, 'r')
    .where('r.project_id = :projectId', { projectId })
    .andWhere('r.deleted_at IS NULL');
}

/**
 * Selects the plain columns of the rows, and `extra` expressions by name, which replace columns of the same name:
 * typeorm's entity selection does not support expressions.
 */
export function selectRows<Row extends ResourceRow>(
  query: SelectQueryBuilder<Row>,
  extra: Record<string, string> = {},
): SelectQueryBuilder<Row> {
  const { columns } = query.expressionMap.mainAlias!.metadata;
  const plain = columns.filter(({ isSelect, databaseName }) => isSelect && !(databaseName in extra));
  query.select(plain.map(({ databaseName }) => `r.${databaseName}`).join(', '));
  for (const [name, expression] of Object.entries(extra)) query.addSelect(expression, name);
  return query;
}

interface ListOptions {
  /** The time and the id by which Postgres finds the rows in order; those of the rows unless a joined table has them. */
  key?: readonly [time: string, id: string];
  /** The column of the page with the time. */
  time?: 'created_at' | 'active_at';
  large?: LargeRows;
}

export function listResources<Row>(
  db: Db,
  query: SelectQueryBuilder<ObjectLiteral>,
  { limit, after }: PageRequest,
  { key: [at, id] = ['r.created_at', 'r.id'], time = 'created_at', large }: ListOptions = {},
): Promise<PageRows<Row>> {
  if (after !== null) {
    query.andWhere(`(${at}, ${id}) < (CAST(:at AS timestamptz), :id)`, { at: after[0], id: after[1] });
  }
  const [text, values] = query
    .orderBy(at, 'DESC')
    .addOrderBy(id, 'DESC')
    .limit(limit + 1)
    .getQueryAndParameters();
  return readPage<Row>(db, { query: text, values, order: `${time} DESC, id DESC`, limit, large });
}

export async function insertResource<Row extends ResourceRow>(
  tx: Db,
  entity: EntitySchema<Row>,
  row: Omit<Row, 'created_at' | 'deleted_at'>,
): Promise<Row> {
  const values = row as unknown as QueryDeepPartialEntity<Row>;
  const result = await tx.createQueryBuilder().insert().into(entity).values(values).returning('*').execute();
  return (result.raw as [Row])[0];
}

/** The rows that count against a project's limit. */
const COUNTED = { schedule: "state <> 'ended'", webhook: 'true', agent: 'true' };

/** @throws ServiceError if the project has `max` rows of the table. The lock of the project's row makes that exact. */
export async function requireRoomFor(
  tx: Db,
  projectId: string,
  table: keyof typeof COUNTED,
  max: number,
): Promise<void> {
  await runSql(tx, sql`SELECT FROM projects WHERE id = ${projectId} FOR NO KEY UPDATE`);
  const [counted] = await runSql<{ count: number }>(
    tx,
    sql`SELECT count(*)::integer AS count FROM ${rawSql(`${table}s`)} WHERE project_id = ${projectId} AND deleted_at IS NULL
          AND ${rawSql(COUNTED[table])}`,
  );
  if (counted!.count < max) return;
  throw new ServiceError(
    `${table}_limit_reached`,
    `The project has ${max} ${table}s, its limit. Delete one before you create another.`,
  );
}

/** Soft-deletes a row, and empties the recorded answers about it. Returns false if another request deleted it first. */
export async function softDelete<Row extends ResourceRow>(
  tx: EntityManager,
  entity: EntitySchema<Row>,
  id: string,
): Promise<boolean> {
  const result = await tx
    .createQueryBuilder()
    .update(entity)
    .set({ deleted_at: () => 'clock_timestamp()' } as unknown as QueryDeepPartialEntity<Row>)
    .where('id = :id AND deleted_at IS NULL', { id })
    .execute();
  if (result.affected !== 1) return false;
  await emptyAnswers(tx, [id]);
  return true;
}
