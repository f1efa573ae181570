import { OPEN_STATES } from '../db/turn-states.js';
import { databaseGauges } from '../db/database-metrics.js';
import { ASKS_SOMEBODY } from '../sessions/required-actions.js';

export const OPEN_TURNS = `
  SELECT state, count(id)::integer AS value
  FROM unnest(ARRAY[${OPEN_STATES.map((state) => `'${state}'`).join(', ')}]) AS states(state)
  LEFT JOIN (SELECT id, state FROM open_turns JOIN turns ON id = turn_id) AS open USING (state)
  GROUP BY state`;

/** The turns that wait for a person or a client, once for each question. */
export const OPEN_QUESTIONS = `SELECT turn_id, asked_at FROM waits w WHERE state = 'open' AND ${ASKS_SOMEBODY}`;

databaseGauges([
  {
    name: 'turns_open',
    help: 'Queued and running turns of the whole service',
    labels: ['state'],
    query: OPEN_TURNS,
  },
  {
    name: 'projects_full',
    help: 'Projects with as many open turns as max_running_turns: their messages are refused or wait',
    query: `SELECT count(*)::integer AS value
            FROM (SELECT project_id, count(*) AS open FROM open_turns WHERE parent_turn_id IS NULL GROUP BY project_id) AS taken
              JOIN projects ON projects.id = project_id
            WHERE open >= max_running_turns`,
  },
  {
    name: 'turns_oldest_queued_seconds',
    help: 'Age of the oldest queued turn',
    query: `SELECT coalesce(extract(epoch FROM clock_timestamp() - min(queued_at)), 0)::double precision AS value
            FROM open_turns JOIN turns ON id = turn_id WHERE state = 'queued'`,
  },
  {
    name: 'turns_waiting',
    help: 'Running turns of the whole service that wait for a person or a client',
    query: `SELECT count(DISTINCT turn_id)::integer AS value FROM (${OPEN_QUESTIONS}) AS open`,
  },
  {
    name: 'turns_oldest_waiting_seconds',
    help: 'Age of the oldest open approval, client tool call, question of an MCP server or authorization by a user',
    query: `SELECT coalesce(extract(epoch FROM clock_timestamp() - min(asked_at)), 0)::double precision AS value
            FROM (${OPEN_QUESTIONS}) AS open`,
  },
  {
    name: 'mcp_tasks_open',
    help: 'Tasks of MCP servers that running turns of the whole service wait for',
    query: `SELECT count(*)::integer AS value
            FROM open_turns o JOIN tool_calls c ON c.turn_id = o.turn_id AND c.holds_task AND c.state = 'task'`,
  },
]);
