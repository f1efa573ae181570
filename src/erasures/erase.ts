import pLimit from 'p-limit';
import { deleteRecords } from '../db/answers-of-resources.js';
import { FileEntity } from '../db/entities/files.js';
import type { Database } from '../db/db.js';
import { softDelete } from '../db/resources.js';
import { runSql, sql } from '../db/sql.js';
import { transaction } from '../db/transaction.js';
import { isOpen } from '../db/turn-states.js';
import { finishRemoval } from '../files/remove.js';
import type { Storage } from '../files/storage.js';
import { dropCredentials, type DropDeps } from '../mcp/drop-credentials.js';
import { deleteCredentials } from '../mcp/user-credentials.js';
import { deleteMemories } from '../memories/store.js';
import { deleteSchedule } from '../schedules/store.js';
import { notifyDeletedSessions } from '../sessions/deleted-sessions.js';
import { purgeSession } from '../sessions/purge.js';
import { lockSession, softDeleteSession } from '../sessions/store.js';
import type { TurnWorkflows } from '../temporal/turn-workflows.js';
import { cancelTurn } from '../turns/cancel.js';
import type { TurnDeps } from '../turns/change-turn.js';
import { forgetStep } from '../turns/usage-sums.js';
import { count, finish, isOfErasure, isScheduleOfErasure, takeErasure, type RunningErasure } from './store.js';

export type EraseDeps = TurnDeps &
  DropDeps & {
    storage: Storage;
    workflows: Pick<TurnWorkflows, 'cancel'>;
  };

/** What a portion of an erasure came to: there is more to do of this kind, nothing, or nothing before turns have ended. */
type Portion = 'more' | 'nothing' | 'waits';

/** Where an erasure is. `nextMs`: the pause before the next step; null after the last one. */
export interface ErasureStep {
  state: string;
  nextMs: number | null;
}

/** Items of one portion, so that each ends in a moment. */
const PORTION = 20;
const PARALLEL_OBJECTS = 8;
/** Rows of turns that one transaction removes. */
const TURNS_PER_PURGE = 1000;
const WAIT_MS = 500;

/**
 * What an erasure deletes, in this order. A portion begins when those before have found nothing. Each finds its work in the tables, and
 * deletes it together with what says that it is to be done: so it may be made again, by whatever process.
 */
const PORTIONS: readonly [state: string, run: (deps: EraseDeps, erasure: RunningErasure) => Promise<Portion>][] = [
  ['waiting messages', ({ db }, erasure) => discardWaiting(db, erasure)],
  ['schedules', eraseSchedules],
  ['sessions', deleteSessions],
  ['contents of sessions', purgeSessions],
  ['files', eraseFiles],
  ['credentials', eraseCredentials],
  ['memories', eraseMemories],
  ['usage', forgetUsage],
];

/**
 * Erases for about so long, and says how to go on. It may be repeated, and two at once do not disturb each other.
 * @throws what is away: Postgres, the storage
 */
export async function eraseStep(
  deps: EraseDeps,
  erasureId: string,
  maxMs: number,
  signal: AbortSignal,
): Promise<ErasureStep> {
  const until = Date.now() + maxMs;
  let from = 0;
  for (;;) {
    const taken = await takeErasure(deps.db, erasureId);
    if (taken === null) return { state: 'done', nextMs: null };
    if (!taken.isFirst) return { state: 'waits for an earlier erasure of the project', nextMs: 4 * WAIT_MS };
    const next = await nextPortion(deps, taken.erasure, from);
    if (next === null && from === 0) {
      await finish(deps.db, erasureId);
      return { state: 'done', nextMs: null };
    }
    // What an earlier portion found nothing of is looked for again at the end, and in the next step.
    from = next?.kind ?? 0;
    if (next === null) continue;
    const [state] = PORTIONS[next.kind]!;
    if (next.portion === 'waits') return { state: 'waits for turns to end', nextMs: WAIT_MS };
    if (Date.now() >= until || signal.aborted) return { state, nextMs: 0 };
  }
}

/** Null: there is nothing to do. @param from the first kind that is looked for */
async function nextPortion(
  deps: EraseDeps,
  erasure: RunningErasure,
  from: number,
): Promise<{ kind: number; portion: 'more' | 'waits' } | null> {
  for (let kind = from; kind < PORTIONS.length; kind += 1) {
    const portion = await PORTIONS[kind]![1](deps, erasure);
    if (portion !== 'nothing') return { kind, portion };
  }
  return null;
}

/** Empties the queues of sessions. The files that their messages attached are noted before. */
export async function discardWaiting(db: Database, erasure: RunningErasure): Promise<Portion> {
  const [row] = await runSql<{ count: number }>(
    db,
    sql`WITH waiting AS (
          SELECT w.id FROM waiting_messages w JOIN sessions s ON s.id = w.session_id
          WHERE ${isOfErasure(erasure)} AND s.deleted_at IS NULL LIMIT ${20 * PORTION}),
        gone AS (DELETE FROM waiting_messages w USING waiting WHERE w.id = waiting.id RETURNING w.data),
        attached AS (
          INSERT INTO erased_files SELECT DISTINCT ${erasure.id}, file->>'id'
          FROM gone, json_array_elements(coalesce(gone.data->'files', '[]')) AS file WHERE ${erasure.attached_files}
          ON CONFLICT DO NOTHING)
        SELECT count(*)::integer AS count FROM gone`,
  );
  return row!.count > 0 ? 'more' : 'nothing';
}

async function eraseSchedules({ db }: EraseDeps, erasure: RunningErasure): Promise<Portion> {
  const schedules = await runSql<{ id: string }>(
    db,
    sql`SELECT c.id FROM schedules c WHERE ${isScheduleOfErasure(erasure)} LIMIT ${PORTION}`,
  );
  for (const { id } of schedules) {
    await runSql(db, sql`DELETE FROM schedule_runs WHERE schedule_id = ${id}`);
    await transaction(db, async (tx) => {
      await deleteRecords(tx, [id]);
      await deleteSchedule(tx, id);
    });
  }
  return schedules.length > 0 ? 'more' : 'nothing';
}

/** Cancels open turns, and deletes the sessions without one, as requests would: with their child sessions. */
async function deleteSessions(deps: EraseDeps, erasure: RunningErasure): Promise<Portion> {
  const isLive = sql`${isOfErasure(erasure)} AND s.deleted_at IS NULL AND s.parent_session_id IS NULL`;
  // In this order: a turn that ends meanwhile leaves a session without one.
  const turns = await runSql<{ id: string; is_cancelled: boolean }>(
    deps.db,
    sql`SELECT o.turn_id AS id, o.cancel_requested_at IS NOT NULL AS is_cancelled
        FROM open_turns o JOIN sessions s ON s.id = o.session_id
        WHERE o.project_id = ${erasure.project_id} AND ${isLive}
        ORDER BY o.cancel_requested_at IS NOT NULL LIMIT ${PORTION}`,
  );
  for (const { id, is_cancelled } of turns) if (!is_cancelled) await cancelTurn(deps, id, () => Promise.resolve());
  const sessions = await runSql<{ id: string }>(
    deps.db,
    sql`SELECT s.id FROM sessions s
        WHERE ${isLive} AND NOT EXISTS (SELECT FROM open_turns o WHERE o.session_id = s.id) LIMIT ${PORTION}`,
  );
  for (const { id } of sessions) await deleteSession(deps.db, erasure, id);
  if (sessions.length > 0 || turns.some(({ is_cancelled }) => !is_cancelled)) return 'more';
  return turns.length > 0 ? 'waits' : 'nothing';
}

async function deleteSession(db: Database, erasure: RunningErasure, id: string): Promise<void> {
  const deleted = await transaction(db, async (tx) => {
    const session = await lockSession(tx, erasure.project_id, id);
    if (session === null || (session.turn_state !== null && isOpen(session.turn_state))) return [];
    await count(tx, erasure, 'sessions', 1);
    return softDeleteSession(tx, id);
  });
  await notifyDeletedSessions(db, deleted);
}

/** Removes the rows and objects of deleted sessions, also of those that their clients deleted before. Children go before their parents. */
async function purgeSessions(deps: EraseDeps, erasure: RunningErasure): Promise<Portion> {
  const sessions = await runSql<{ id: string }>(
    deps.db,
    sql`SELECT s.id FROM sessions s WHERE ${isOfErasure(erasure)} AND s.deleted_at IS NOT NULL
        ORDER BY s.parent_session_id IS NULL LIMIT ${PORTION}`,
  );
  for (const { id } of sessions) {
    await noteFiles(deps.db, erasure, id);
    await deleteObjects(deps, id);
    await purgeSession(deps.db, id, TURNS_PER_PURGE, async (tx, { created_at }) => {
      await runSql(tx, sql`INSERT INTO erased_sessions VALUES (${erasure.id}, ${id}) ON CONFLICT DO NOTHING`);
      // Its turns ended after it was made.
      await runSql(
        tx,
        sql`UPDATE erasures SET usage_until = least(usage_until, ${created_at}::timestamptz) WHERE id = ${erasure.id}`,
      );
    });
  }
  return sessions.length > 0 ? 'more' : 'nothing';
}

/** Before the events go that name them. */
async function noteFiles(db: Database, { id, attached_files }: RunningErasure, sessionId: string): Promise<void> {
  await runSql(
    db,
    sql`INSERT INTO erased_files
        SELECT ${id}, files.id FROM files WHERE session_id = ${sessionId} AND deleted_at IS NULL
        UNION SELECT ${id}, files.id FROM files WHERE session_id = ${sessionId} AND deleted_at IS NOT NULL
        UNION SELECT ${id}, files.id FROM files WHERE token_session_id = ${sessionId}
        UNION SELECT ${id}, file->>'id' FROM events, json_array_elements(coalesce(data->'files', '[]')) AS file
        WHERE ${attached_files} AND session_id = ${sessionId} AND type = 'user.message'
        ON CONFLICT DO NOTHING`,
  );
}

/** Results of tools, and workspaces. Those that a copy of the session has, too, go with the last of them. */
async function deleteObjects({ db, storage }: EraseDeps, sessionId: string): Promise<void> {
  const turns = await runSql<{ id: string }>(
    db,
    sql`SELECT coalesce(t.copied_from, t.id) AS id FROM turns t WHERE t.session_id = ${sessionId}
          AND NOT EXISTS (SELECT FROM turns o WHERE o.copied_from = coalesce(t.copied_from, t.id) AND o.session_id <> ${sessionId})
          AND NOT EXISTS (SELECT FROM turns o WHERE o.id = t.copied_from AND o.session_id <> ${sessionId})`,
  );
  await pLimit(PARALLEL_OBJECTS).map(turns, async ({ id }) => {
    for await (const { key } of storage.list(`results/${id}/`)) await storage.delete(key);
  });
  const keys: string[] = [];
  for await (const { key } of storage.list(`workspaces/${sessionId}/`)) keys.push(key);
  if (keys.length === 0) return;
  const unused = await runSql<{ key: string }>(
    db,
    sql`SELECT key FROM unnest(${keys}::text[]) AS objects (key)
        WHERE NOT EXISTS (SELECT FROM workspaces w WHERE w.objects @> ARRAY[objects.key])
          AND NOT EXISTS (SELECT FROM kept_workspaces k WHERE k.objects @> ARRAY[objects.key])`,
  );
  await pLimit(PARALLEL_OBJECTS).map(unused, ({ key }) => storage.delete(key));
  await runSql(db, sql`DELETE FROM replaced_objects WHERE key = ANY(${unused.map(({ key }) => key)}::text[])`);
}

async function eraseFiles({ db, storage }: EraseDeps, erasure: RunningErasure): Promise<Portion> {
  const noted = await runSql<{ file_id: string; storage_key: string | null }>(
    db,
    sql`SELECT file_id, f.storage_key FROM erased_files
          LEFT JOIN files f ON f.id = file_id AND f.project_id = ${erasure.project_id}
        WHERE erasure_id = ${erasure.id} LIMIT ${PORTION}`,
  );
  for (const { file_id: id, storage_key } of noted) {
    if (storage_key !== null) {
      await transaction(db, async (tx) => {
        if (await softDelete(tx, FileEntity, id)) await count(tx, erasure, 'files', 1);
        await deleteRecords(tx, [id]);
      });
      await finishRemoval(db, storage, { id, storage_key });
    }
    await runSql(db, sql`DELETE FROM erased_files WHERE erasure_id = ${erasure.id} AND file_id = ${id}`);
  }
  return noted.length > 0 ? 'more' : 'nothing';
}

async function eraseCredentials(deps: EraseDeps, erasure: RunningErasure): Promise<Portion> {
  const { dropped, grants } = await transaction(deps.db, async (tx) => {
    const deleted = await deleteCredentials(tx, erasure.project_id, { user: erasure.end_user });
    await count(tx, erasure, 'credentials', deleted.dropped.length);
    const ids = deleted.dropped.map(({ id }) => id);
    await deleteRecords(tx, ids);
    return deleted;
  });
  if (dropped.length === 0) return 'nothing';
  await dropCredentials(deps, dropped, grants);
  return 'more';
}

async function eraseMemories({ db }: EraseDeps, erasure: RunningErasure): Promise<Portion> {
  const ids = await transaction(db, async (tx) => {
    const deleted = await deleteMemories(tx, erasure.project_id, { user: erasure.end_user, limit: 1 });
    await deleteRecords(tx, deleted);
    await count(tx, erasure, 'memories', deleted.length);
    return deleted;
  });
  return ids.length > 0 ? 'more' : 'nothing';
}

/**
 * Usage is searched once, from the oldest turn of these sessions on, in bounded steps. It has the user also of sessions that were gone
 * before; sessions that are younger than the erasure keep theirs.
 */
async function forgetUsage({ db }: EraseDeps, erasure: RunningErasure): Promise<Portion> {
  const { id, project_id, end_user, created_at } = erasure;
  const [from] = await runSql<{ usage_until: string | null }>(
    db,
    sql`SELECT usage_until::text FROM erasures WHERE id = ${id}`,
  );
  if (from?.usage_until == null) return 'nothing';
  const isTheirs = sql`(session_id IN (SELECT session_id FROM erased_sessions WHERE erasure_id = ${id})
    OR (metadata->>'' = ${end_user} AND NOT EXISTS (
      SELECT FROM sessions s WHERE s.id = turn_usage.session_id AND s.created_at > ${created_at}::timestamptz)))`;
  const { until } = await forgetStep(db, project_id, { which: isTheirs }, from.usage_until);
  if (until === null)
    await runSql(
      db,
      sql`WITH known AS (DELETE FROM erased_sessions WHERE erasure_id = ${id})
          UPDATE erasures SET usage_until = NULL WHERE id = ${id}`,
    );
  else await runSql(db, sql`UPDATE erasures SET usage_until = ${until}::timestamptz WHERE id = ${id}`);
  return 'more';
}
