/** What a fork copies of a table: `columns` as they are. `place`, the place of a row `r` in its turn, and `bytes` are what portions are made by. */
export interface CopiedRows {
  columns: string;
  place: string;
  bytes: string;
  /** The rows name the session, too. */
  namesSession?: true;
  /** SQL that is true for the rows `r` that are copied; without it, all are. */
  only?: string;
}

/** A table whose rows belong to one turn, by `turn_id`. They go with it. */
interface RowsOfTurn {
  table: string;
  /** Null if a fork has no such rows. */
  copied: CopiedRows | null;
}

export const ROWS_OF_TURN: readonly RowsOfTurn[] = [
  {
    table: 'turn_servers',
    copied: {
      columns: 'server_id, index, name, toolset_hash, offered_tools, connected, as_user, required_approvals',
      place: 'r.index',
      bytes: 'coalesce(pg_column_size(r.offered_tools), 0) + coalesce(pg_column_size(r.required_approvals), 0)',
    },
  },
  {
    table: 'model_calls',
    copied: {
      columns:
        'step, position, call, message_id, worker_id, started_at, ended_at, model_id, usage, cost, currency, error, first_token_ms',
      place: 'r.step',
      bytes: '0',
    },
  },
  {
    table: 'model_steps',
    copied: {
      columns: 'step, message_id, model_id, content, stop_reason',
      place: 'r.step',
      bytes: 'pg_column_size(r.content)',
    },
  },
  {
    table: 'tool_calls',
    copied: {
      columns:
        'step, index, tool_use_id, name, input, changed_input, state, content, is_error, overflow_key, worker_id, started_at, ended_at',
      place: '(r.step * 1000000::bigint + r.index)',
      bytes:
        'pg_column_size(r.input) + coalesce(pg_column_size(r.changed_input), 0) + coalesce(pg_column_size(r.content), 0)',
    },
  },
  {
    table: 'waits',
    copied: {
      columns:
        'step, id, index, tool_use_id, kind, ask, during_call, state, outcome, asked_at, expires_at, closed_at, answer_position, taken_at',
      place: 'r.step',
      bytes: 'pg_column_size(r.ask)',
      namesSession: true,
      // Without the questions of servers, whose texts do not count in the storage of a project.
      only: 'NOT r.during_call',
    },
  },
  // What a server worked on: a copied turn has ended.
  { table: 'mcp_tasks', copied: null },
  // A fork has no child sessions, and the agents that its turns may call are found when they begin.
  { table: 'turn_agents', copied: null },
  { table: 'delegations', copied: null },
];
