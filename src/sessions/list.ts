import type { SelectQueryBuilder } from 'typeorm';
import { listResources } from '../db/resources.js';
import type { Db } from '../db/transaction.js';
import { OPEN_STATES } from '../db/turn-states.js';
import type { PageRequest, PageRows } from '../platform/page.js';
import type { Metadata } from './metadata.js';
import { waitsForAnswer } from './required-actions.js';
import { SESSION_COLUMNS, sessionsOf, type Session } from './store.js';

/** `open`: a turn is queued or running; `idle`: there was no turn yet; else the state in which the last turn ended. */
export type ListedState = 'idle' | 'open' | 'completed' | 'cancelled' | 'failed';

/** A filter that is absent selects every session. */
export interface SessionFilter {
  state?: ListedState | undefined;
  /** Only sessions that wait for an answer, or only the others. */
  requiresAction?: boolean | undefined;
  /** Exclusive bounds of `created_at`. */
  createdAfter?: string | undefined;
  createdBefore?: string | undefined;
  /** Every pair must match. */
  metadata?: Metadata;
  /** A part of the session's preview, case ignored. */
  text?: string | undefined;
}

export function listSessions(
  db: Db,
  projectId: string,
  page: PageRequest,
  filter: SessionFilter = {},
): Promise<PageRows<Session>> {
  const query = sessionsOf(db, projectId).addSelect('r.page_bytes', 'page_bytes');
  const { state } = filter;
  let key: readonly [string, string] = ['r.created_at', 'r.id'];
  if (state === 'open') query.andWhere(HAS_OPEN_TURN);
  // A search for a rare state by the turns of all sessions would take seconds.
  else if (state !== undefined) {
    addStates(query, state);
    key = ['s.created_at', 's.session_id'];
  }
  addFilter(query, filter, key[0]);
  return listResources(db, query, page, { key, large: { ...LARGE, columns: SESSION_COLUMNS } });
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
  const read = (kind: 'open' | 'others'): Promise<PageRows<ActiveSession>> => {
    const query = sessionsOf(db, projectId).addSelect('r.page_bytes', 'page_bytes');
    let key: readonly [string, string];
    if (kind === 'open') {
      query.andWhere(HAS_OPEN_TURN);
      key = ['greatest(r.metadata_updated_at, t.transition_at)', 'r.id'];
    } else {
      addStates(query, filter.state);
      query.andWhere(`coalesce(t.state, 'idle') NOT IN ${OPEN_LIST}`);
      key = ['s.active_at', 's.session_id'];
    }
    query.addSelect(key[0], 'active_at');
    addFilter(query, filter, 'r.created_at');
    return listResources(db, query, page, {
      key,
      time: 'active_at',
      large: { ...LARGE, columns: `${SESSION_COLUMNS}, active_at` },
    });
  };
  const { state, requiresAction } = filter;
  const [open, others] = await Promise.all([
    state === undefined || state === 'open' ? read('open') : NONE,
    state !== 'open' && requiresAction !== true ? read('others') : NONE,
  ]);
  return merge(open, others, page.limit);
}

const NONE: PageRows<never> = { rows: [], hasMore: false };

/** Both lists are in order. Of one that was cut, the rows behind its last one are not known. */
function merge(one: PageRows<ActiveSession>, other: PageRows<ActiveSession>, limit: number): PageRows<ActiveSession> {
  const isBefore = (a: ActiveSession, b: ActiveSession): boolean =>
    a.active_at === b.active_at ? a.id > b.id : a.active_at > b.active_at;
  const cuts = [one, other].flatMap(({ rows, hasMore }) => (hasMore ? [rows.at(-1)!] : []));
  const known = [...one.rows, ...other.rows.filter(({ id }) => one.rows.every((row) => row.id !== id))].filter((row) =>
    cuts.every((cut) => row === cut || isBefore(row, cut)),
  );
  const rows = known.sort((a, b) => (isBefore(a, b) ? -1 : 1)).slice(0, limit);
  return { rows, hasMore: cuts.length > 0 || rows.length < one.rows.length + other.rows.length };
}

const OPEN_LIST = `(${OPEN_STATES.map((state) => `'${state}'`).join(', ')})`;
const HAS_OPEN_TURN = 'r.id = ANY(ARRAY(SELECT session_id FROM open_turns WHERE project_id = :projectId))';
const LARGE = { bytes: 'page_bytes + octet_length(required_actions::text)' };

/** Joins the state in which the last turn that ended left each session, and takes those in this state. */
function addStates(query: SelectQueryBuilder<object>, state?: ListedState): void {
  query.innerJoin('session_states', 's', 's.session_id = r.id').andWhere('s.project_id = :projectId');
  if (state === undefined) return;
  query
    .andWhere('s.state = :state', { state })
    // A turn that is open now does not change the row.
    .andWhere(state === 'idle' ? 'r.last_turn_id IS NULL' : 't.state = :state');
}

/** @param createdAt the column by which the rows are found in order, if that is the time of their creation */
function addFilter(query: SelectQueryBuilder<object>, filter: SessionFilter, createdAt: string): void {
  const { requiresAction, createdAfter, createdBefore, metadata = {}, text } = filter;
  if (requiresAction === true) query.andWhere(`r.id = ANY(ARRAY(${WAITING_SESSIONS}))`);
  if (requiresAction === false) query.andWhere(`NOT ${waitsForAnswer('r.last_turn_id')}`);
  if (createdAfter !== undefined) query.andWhere(`${createdAt} > CAST(:createdAfter AS timestamptz)`, { createdAfter });
  if (createdBefore !== undefined)
    query.andWhere(`${createdAt} < CAST(:createdBefore AS timestamptz)`, { createdBefore });
  if (Object.keys(metadata).length > 0) {
    query.andWhere('r.metadata_terms @> metadata_terms(:projectId, CAST(:metadata AS json))', {
      metadata: JSON.stringify(metadata),
    });
  }
  // A preview has at most 120 characters, and only those of the project's sessions are read.
  if (text !== undefined) query.andWhere('r.preview ILIKE :pattern', { pattern: `%${escapeLike(text)}%` });
}

function escapeLike(text: string): string {
  return text.replaceAll(/[\\%_]/g, String.raw`\$&`);
}

const WAITING_SESSIONS = `SELECT o.session_id FROM open_turns o
  WHERE o.project_id = :projectId AND ${waitsForAnswer('o.turn_id')}`;
