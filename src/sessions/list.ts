import type { Db, SelectQuery } from '../db/db.js';
import { listResources } from '../db/resources.js';
import { rawSql, runSql, sql, type Sql } from '../db/sql.js';
import { OPEN_STATES } from '../db/turn-states.js';
import { foldCase } from '../platform/fold-case.js';
import type { PageRequest, PageRows } from '../platform/page.js';
import type { Metadata } from './metadata.js';
import { isChildRow } from './child-session.js';
import { childWaitsForAnswer, waitsForAnswer } from './required-actions.js';
import { SESSION_COLUMNS, sessionsOf, type Session } from './store.js';

/** `open`: a turn is queued or running; `idle`: there was no turn yet; else the state in which the last turn ended. */
export type ListedState = 'idle' | 'open' | 'completed' | 'cancelled' | 'failed';

/** A filter that is absent selects every session. */
export interface SessionFilter {
  state?: ListedState | undefined;
  /** Only sessions that wait for an answer, or only the others. */
  requiresAction?: boolean | undefined;
  agentId?: string | undefined;
  /** Exclusive bounds of `created_at`. */
  createdAfter?: string | undefined;
  createdBefore?: string | undefined;
  /** Only the child sessions of this one; absent: only sessions that are no children. */
  parentId?: string | undefined;
  /** Every pair must match. */
  metadata?: Metadata;
  /** For whom the agent acts. */
  user?: string | undefined;
  /** A part of the session's preview, case ignored (src/platform/fold-case). */
  text?: string | undefined;
}

/** Sessions that one page of a search by text looks at: a part of a text has no index. 10,000 take some 10 ms. */
export const MAX_SEARCHED_SESSIONS = 10_000;
/** Sessions with the text that one page reads, of which other filters may leave few. */
const MAX_HITS = 1000;

export async function listSessions(
  db: Db,
  projectId: string,
  page: PageRequest,
  filter: SessionFilter = {},
): Promise<PageRows<Session>> {
  const query = sessionsOf(db, projectId).addSelect(PAGE_BYTES, 'page_bytes');
  const { state, text, createdAfter, createdBefore } = filter;
  addState(query, state);
  const ofCreation: Key = ['r.created_at', 'r.id'];
  const list = (key: Key): Promise<PageRows<Session>> => {
    addFilter(query, filter, key[0]);
    return listResources(db, query, page, { key, large: LARGE_SESSIONS });
  };
  const isByState = state !== undefined && state !== 'open';
  // A search for a rare state by the turns of all sessions would take seconds.
  const key: Key = isByState ? ['s.created_at', 's.session_id'] : ofCreation;
  if (text === undefined) {
    if (isByState) joinStates(query, state);
    return list(key);
  }
  if (isRare(filter)) {
    addText(query, text);
    return list(ofCreation);
  }
  const from = isByState
    ? sql`session_states s WHERE s.project_id = ${projectId} AND s.state = ${state} AND NOT s.is_child`
    : sql`sessions r WHERE r.project_id = ${projectId} AND r.deleted_at IS NULL AND NOT (${rawSql(isChildRow('r'))})`;
  const before = createdBefore === undefined ? sql`` : sql`AND ${rawSql(key[0])} < ${createdBefore}::timestamptz`;
  const after = createdAfter === undefined ? sql`` : sql`AND ${rawSql(key[0])} > ${createdAfter}::timestamptz`;
  const { hits, searchedTo } = await search(db, page, sql`${from} ${before} ${after}`, key, text);
  if (hits.length === 0) return { ...NONE, searchedTo };
  query.andWhere('r.id = ANY(:hits)', { hits });
  return { ...(await list(ofCreation)), searchedTo };
}

/** Of a session and its configuration. */
const PAGE_BYTES = 'c.page_bytes + octet_length(r.metadata::text)';

type Key = readonly [time: string, id: string];

/** Few sessions have an open turn, or the same parent. */
function isRare({ state, requiresAction, parentId }: SessionFilter): boolean {
  return state === 'open' || requiresAction === true || parentId !== undefined;
}

/**
 * Finds a text in the next sessions of a list, in its order. `searchedTo`: the place of the last session that was looked at, if there may
 * be more behind it. The inner LIMIT also keeps Postgres to the index of this order, however rare it thinks that the text is.
 * @param from the table, `sessions r` or `session_states s`, with the conditions that the list has on it
 */
async function search(
  db: Db,
  { after }: PageRequest,
  from: Sql,
  [at, id]: Key,
  text: string,
): Promise<{ hits: string[]; searchedTo: string[] | undefined }> {
  const behind =
    after === null ? sql`` : sql`AND ${rawSql(`(${at}, ${id})`)} < (${after[0]}::timestamptz, ${after[1]})`;
  const rows = await runSql<{ at: string; id: string; is_hit: boolean }>(
    db,
    sql`WITH searched AS MATERIALIZED (
          SELECT ${rawSql(`${at} AS at, ${id} AS id, ${id[0]}.preview_folded`)} LIKE ${patternOf(text)} AS is_hit
          FROM ${from} ${behind} ORDER BY ${rawSql(`${at} DESC, ${id} DESC`)} LIMIT ${MAX_SEARCHED_SESSIONS}::integer),
        hits AS (SELECT * FROM searched WHERE is_hit ORDER BY at DESC, id DESC LIMIT ${MAX_HITS}::integer),
        last AS (
          SELECT at, id, false FROM searched
          WHERE (SELECT count(*) FROM searched) = ${MAX_SEARCHED_SESSIONS}::integer ORDER BY at, id LIMIT 1)
        SELECT * FROM hits UNION ALL SELECT * FROM last`,
  );
  const hits = rows.filter(({ is_hit: isHit }) => isHit);
  const last = hits.length === MAX_HITS ? hits.at(-1) : rows.find(({ is_hit: isHit }) => !isHit);
  return { hits: hits.map((hit) => hit.id), searchedTo: last && [last.at, last.id] };
}

function patternOf(text: string): string {
  return `%${foldCase(text).replaceAll(/[\\%_]/g, String.raw`\$&`)}%`;
}

function addText(query: SelectQuery<object>, text: string): void {
  query.andWhere('r.preview_folded LIKE :pattern', { pattern: patternOf(text) });
}

/** A session in the order of activity, with the time that orders it. */
export type ActiveSession = Session & { active_at: string };

/**
 * A page of the sessions by their last activity: the few with an open turn, whose activity is that of the turn, and the
 * others, of which `session_states` knows it. A session whose turn begins or ends meanwhile may come twice, or not at all.
 */
export async function listActiveSessions(
  db: Db,
  projectId: string,
  page: PageRequest,
  filter: SessionFilter = {},
): Promise<PageRows<ActiveSession>> {
  const { state, requiresAction, text, parentId } = filter;
  const queryOf = ([activeAt]: Key): SelectQuery<object> => {
    const query = sessionsOf(db, projectId).addSelect(PAGE_BYTES, 'page_bytes').addSelect(activeAt, 'active_at');
    addFilter(query, filter, 'r.created_at');
    return query;
  };
  const list = (query: SelectQuery<object>, key: Key): Promise<PageRows<ActiveSession>> =>
    listResources(db, query, page, { key, time: 'active_at', large: LARGE_ACTIVE_SESSIONS });

  const ofActivity: Key = ['greatest(r.metadata_updated_at, t.transition_at)', 'r.id'];

  const readOpen = (): Promise<PageRows<ActiveSession>> => {
    const query = queryOf(ofActivity);
    addState(query, 'open');
    if (text !== undefined) addText(query, text);
    return list(query, ofActivity);
  };
  const readOthers = async (): Promise<PageRows<ActiveSession>> => {
    const key: Key = ['s.active_at', 's.session_id'];
    const query = queryOf(text === undefined ? key : ofActivity);
    addState(query, state);
    query.andWhere(`coalesce(t.state, 'idle') NOT IN ${OPEN_LIST}`);
    if (text === undefined) {
      joinStates(query, state);
      return list(query, key);
    }
    if (parentId !== undefined) {
      addText(query, text);
      return list(query, ofActivity);
    }
    const ofState = state === undefined ? sql`` : sql`AND s.state = ${state}`;
    const from = sql`session_states s WHERE s.project_id = ${projectId} ${ofState} AND NOT s.is_child`;
    const { hits, searchedTo } = await search(db, page, from, key, text);
    if (hits.length === 0) return { ...NONE, searchedTo };
    query.andWhere('r.id = ANY(:hits)', { hits });
    return { ...(await list(query, ofActivity)), searchedTo };
  };
  // One after the other: a read holds one connection.
  const open = state === undefined || state === 'open' ? await readOpen() : NONE;
  const others = state !== 'open' && requiresAction !== true ? await readOthers() : NONE;
  return merge(open, others, page.limit);
}

const NONE: PageRows<never> = { rows: [], hasMore: false };

/** Both lists are in order. Of one that was cut, or searched to a place, the rows behind its last one or this place are not known. */
function merge(one: PageRows<ActiveSession>, other: PageRows<ActiveSession>, limit: number): PageRows<ActiveSession> {
  const isBefore = (a: Place, b: Place): boolean =>
    a.active_at === b.active_at ? a.id > b.id : a.active_at > b.active_at;
  const cuts = [one, other].flatMap(({ rows, hasMore, searchedTo }): Place[] => {
    if (hasMore) return [rows.at(-1)!];
    return searchedTo === undefined ? [] : [{ active_at: searchedTo[0]!, id: searchedTo[1]! }];
  });
  const known = [...one.rows, ...other.rows.filter(({ id }) => one.rows.every((row) => row.id !== id))].filter((row) =>
    cuts.every((cut) => row.id === cut.id || isBefore(row, cut)),
  );
  const rows = known.sort((a, b) => (isBefore(a, b) ? -1 : 1)).slice(0, limit);
  const [cut] = cuts.sort((a, b) => (isBefore(a, b) ? -1 : 1));
  return { rows, hasMore: known.length > limit, searchedTo: cut && [cut.active_at, cut.id] };
}

type Place = Pick<ActiveSession, 'active_at' | 'id'>;

const OPEN_LIST = `(${OPEN_STATES.map((state) => `'${state}'`).join(', ')})`;
const HAS_OPEN_TURN = 'r.id = ANY(ARRAY(SELECT session_id FROM open_turns WHERE project_id = :projectId))';
const LARGE = { bytes: 'page_bytes + octet_length(required_actions::text) + octet_length(remembered_approvals::text)' };
const LARGE_SESSIONS = { ...LARGE, columns: SESSION_COLUMNS };
const LARGE_ACTIVE_SESSIONS = { ...LARGE, columns: `${SESSION_COLUMNS}, active_at` };

/** Takes the sessions in a state. */
function addState(query: SelectQuery<object>, state?: ListedState): void {
  if (state === 'open') query.andWhere(HAS_OPEN_TURN);
  else if (state === 'idle') query.andWhere('r.last_turn_id IS NULL');
  else if (state !== undefined) query.andWhere('t.state = :state', { state });
}

/** Joins the state in which the last turn that ended left each session. A turn that is open now does not change the row. */
function joinStates(query: SelectQuery<object>, state?: ListedState): void {
  query.innerJoin('session_states', 's', 's.session_id = r.id').andWhere('s.project_id = :projectId');
  if (state !== undefined) query.andWhere('s.state = :state', { state });
}

/** @param createdAt the column by which the rows are found in order, if that is the time of their creation */
function addFilter(query: SelectQuery<object>, filter: SessionFilter, createdAt: string): void {
  const { requiresAction, agentId, createdAfter, createdBefore, metadata = {}, user, parentId } = filter;
  if (parentId === undefined) query.andWhere(`NOT (${isChildRow('r')})`);
  else query.andWhere('r.parent_session_id = :parentId', { parentId });
  if (agentId !== undefined) query.andWhere('r.agent_id = :agentId', { agentId });
  if (user !== undefined) query.andWhere('r.end_user = :user', { user });
  if (requiresAction === true) query.andWhere(`r.id = ANY(ARRAY(${WAITING_SESSIONS}))`);
  if (requiresAction === false) {
    query.andWhere(`NOT ${waitsForAnswer('r.last_turn_id')} AND NOT ${childWaitsForAnswer('r.last_turn_id')}`);
  }
  if (createdAfter !== undefined) query.andWhere(`${createdAt} > CAST(:createdAfter AS timestamptz)`, { createdAfter });
  if (createdBefore !== undefined)
    query.andWhere(`${createdAt} < CAST(:createdBefore AS timestamptz)`, { createdBefore });
  if (Object.keys(metadata).length > 0) {
    query.andWhere('r.metadata_terms @> metadata_terms(:projectId, CAST(:metadata AS json))', {
      metadata: JSON.stringify(metadata),
    });
  }
}

/** Those whose own turns wait, and the parents of child sessions that do. */
const WAITING_SESSIONS = `SELECT unnest(ARRAY[o.session_id, o.parent_session_id]) FROM open_turns o
  WHERE o.project_id = :projectId AND ${waitsForAnswer('o.turn_id')}`;
