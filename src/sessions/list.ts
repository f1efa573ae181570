import type { SelectQueryBuilder } from 'typeorm';
import { listResources } from '../db/resources.js';
import type { Db } from '../db/transaction.js';
import type { PageRequest, PageRows } from '../platform/page.js';
import type { Metadata } from './metadata.js';
import { WAITS, waitsForAnswer } from './required-actions.js';
import { COLUMNS, sessionsOf, type Session } from './store.js';

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
}

export function listSessions(
  db: Db,
  projectId: string,
  page: PageRequest,
  filter: SessionFilter = {},
): Promise<PageRows<Session>> {
  const query = sessionsOf(db, projectId).addSelect('r.page_bytes', 'page_bytes');
  const { state, requiresAction, createdAfter, createdBefore, metadata = {} } = filter;
  const key = addState(query, state);
  if (requiresAction === true) query.andWhere(`r.id = ANY(ARRAY(${WAITING_SESSIONS}))`);
  if (requiresAction === false) query.andWhere(`NOT ${WAITS}`);
  if (createdAfter !== undefined) query.andWhere(`${key[0]} > CAST(:createdAfter AS timestamptz)`, { createdAfter });
  if (createdBefore !== undefined) query.andWhere(`${key[0]} < CAST(:createdBefore AS timestamptz)`, { createdBefore });
  if (Object.keys(metadata).length > 0) {
    query.andWhere('r.metadata_terms @> metadata_terms(:projectId, CAST(:metadata AS json))', {
      metadata: JSON.stringify(metadata),
    });
  }
  const large = { bytes: 'page_bytes + octet_length(required_actions::text)', columns: COLUMNS };
  return listResources(db, query, page, { key, large });
}

/**
 * The few sessions with an open turn are found by their turns, the others by `session_states`. Returns the columns that
 * are in the order of the list.
 */
function addState(query: SelectQueryBuilder<object>, state?: ListedState): readonly [string, string] {
  if (state === undefined) return ['r.created_at', 'r.id'];
  if (state === 'open') {
    query.andWhere('r.id = ANY(ARRAY(SELECT session_id FROM open_turns WHERE project_id = :projectId))');
    return ['r.created_at', 'r.id'];
  }
  query
    .innerJoin('session_states', 's', 's.session_id = r.id')
    .andWhere('s.project_id = :projectId AND s.state = :state', { state })
    // A turn that is open now does not change the row.
    .andWhere(state === 'idle' ? 'r.last_turn_id IS NULL' : 't.state = :state');
  return ['s.created_at', 's.session_id'];
}

const WAITING_SESSIONS = `SELECT o.session_id FROM open_turns o
  WHERE o.project_id = :projectId AND ${waitsForAnswer('o.turn_id')}`;
