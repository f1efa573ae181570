import { write } from '../db/transaction.js';
import type { NewEvent } from '../events/schema.js';
import type { TaskState } from '../mcp/tasks.js';
import { changeTurn, ifRunning, type TurnDeps } from '../turns/change-turn.js';
import { OvertakenError } from '../turns/errors.js';
import type { CallPlace } from '../turns/facts.js';

/** What a server has reported of an open task, and its `agent.tool_progress` if it is shown. */
export interface ReportedState extends TaskState {
  index: number;
  event: NewEvent | null;
}

const OPEN_TASKS = `
  SELECT count(*)::integer AS count FROM tool_calls
  WHERE turn_id = $1 AND step = $2 AND index = ANY($3::integer[]) AND state = 'task'`;
const STORE_STATES = `
  UPDATE mcp_tasks m SET asked_at = clock_timestamp(), status = s.status, message = s.message, poll_ms = s.poll_ms,
    shown_status = CASE WHEN is_shown THEN s.status ELSE shown_status END,
    shown_message = CASE WHEN is_shown THEN s.message ELSE shown_message END,
    shown_at = CASE WHEN is_shown THEN clock_timestamp() ELSE shown_at END
  FROM unnest($3::integer[], $4::text[], $5::text[], $6::integer[], $7::boolean[])
    AS s (index, status, message, poll_ms, is_shown)
  WHERE m.turn_id = $1 AND m.step = $2 AND m.index = s.index`;

/** Stores the states of tasks that were asked for together, with their events. @throws TurnEndedError, OvertakenError */
export async function storeStates(
  deps: TurnDeps,
  { turnId, step }: Pick<CallPlace, 'turnId' | 'step'>,
  states: ReportedState[],
): Promise<void> {
  const indices = states.map(({ index }) => index);
  const reported = [
    ...[turnId, step, indices, states.map(({ status }) => status), states.map(({ message }) => message)],
    ...[states.map(({ pollMs }) => pollMs), states.map(({ event }) => event !== null)],
  ];
  const events = states.flatMap(({ event }) => event ?? []);
  if (events.length === 0) {
    await deps.db.query(STORE_STATES, reported);
    return;
  }
  await changeTurn(deps, turnId, ifRunning, async (turn, tx) => {
    const [open] = await tx.query<[{ count: number }]>(OPEN_TASKS, [turnId, step, indices]);
    if (open.count < states.length) throw new OvertakenError(turnId);
    write(tx, STORE_STATES, reported);
    turn.append(...events);
    turn.streamed = { call: 0, deltas: 0 };
  });
}
