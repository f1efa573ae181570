import { writeCommandEntry } from '../audit/write.js';
import type { Database, Db } from '../db/db.js';
import { ProjectEntity } from '../db/entities/projects.js';
import { rawSql, runSql, sql } from '../db/sql.js';
import { transaction } from '../db/transaction.js';
import { LIVE } from './keys-of-project.js';

export interface ListedProject {
  id: string;
  name: string;
  max_running_turns: number;
  /** Requests a minute of each operation; null: RATE_LIMIT_PER_MINUTE. */
  rate_per_minute: number | null;
  open_turns: number;
  live_keys: number;
  created_at: string;
}

export function listProjects(db: Db): Promise<ListedProject[]> {
  return runSql(
    db,
    sql`SELECT id, name, max_running_turns, rate_per_minute, created_at,
          (SELECT count(*) FROM open_turns WHERE project_id = p.id AND parent_turn_id IS NULL)::integer AS open_turns,
          (SELECT count(*) FROM api_keys WHERE project_id = p.id AND ${rawSql(LIVE)})::integer AS live_keys
        FROM projects p ORDER BY name`,
  );
}

interface ProjectLimits {
  /** Queued or running turns. */
  maxRunningTurns?: number | undefined;
  /** Requests a minute of each operation: 0 for no limit, null for the general one. */
  ratePerMinute?: number | null | undefined;
}

/** The id of a project by its name; null if there is none. */
export async function findProjectId(db: Db, name: string): Promise<string | null> {
  return (await db.getRepository(ProjectEntity).findOneBy({ name }))?.id ?? null;
}

/** Sets those limits of a project that are given. Returns false if the project does not exist. */
export function limitProject(
  db: Database,
  name: string,
  { maxRunningTurns, ratePerMinute }: ProjectLimits,
): Promise<boolean> {
  const change = {
    ...(maxRunningTurns !== undefined && { max_running_turns: maxRunningTurns }),
    ...(ratePerMinute !== undefined && { rate_per_minute: ratePerMinute }),
  };
  return transaction(db, async (tx) => {
    const id = await findProjectId(tx, name);
    if (id === null) return false;
    await tx.getRepository(ProjectEntity).update({ id }, change);
    writeCommandEntry(tx, id, 'limitProject', null);
    return true;
  });
}
