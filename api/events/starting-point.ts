import type { DataSource } from 'typeorm';
import { parseEventId, START, type Position } from '../../src/stream/position.js';
import { isOpen, type TurnState } from '../../src/db/turn-states.js';
import { findTurn, findTurnFromQueue } from '../../src/turns/turn.js';

/** A position in a turn, and whether that turn is queued or running. */
export interface StreamPlace {
  kind: 'turn';
  turnId: string;
  position: Position;
  open: boolean;
}

export type StartingPoint =
  /** There is no turn yet: wait for the first one. */
  | { kind: 'wait' }
  /** After the terminal event of the current turn: there is nothing to send. */
  | { kind: 'over' }
  | StreamPlace;

/**
 * Decides where a stream of a session starts (contract.md §3 "Stream, …"). A `Last-Event-ID` of any turn resumes there.
 * An id at the end of an earlier turn means the start of the turn that the queue started next; without one, and if the id is
 * unknown, the start of the current turn.
 */
export async function startingPoint(
  db: DataSource,
  session: { id: string; last_turn_id: string | null; turn_state: TurnState | null },
  lastEventId: string,
): Promise<StartingPoint> {
  if (session.last_turn_id === null || session.turn_state === null) return { kind: 'wait' };
  const open = isOpen(session.turn_state);
  const current: StartingPoint = { kind: 'turn', turnId: session.last_turn_id, position: START, open };
  const seen = parseEventId(lastEventId);
  if (seen === null) return current;
  const turn = await findTurn(db, session.id, seen.turnId);
  if (turn === null || seen.position[0] > turn.position) return current;
  const isOver = !isOpen(turn.state) && seen.position[0] === turn.position;
  if (!isOver) return { kind: 'turn', ...seen, open: isOpen(turn.state) };
  if (seen.turnId === session.last_turn_id) return { kind: 'over' };
  const next = await findTurnFromQueue(db, session.id, turn.number + 1);
  return next === null ? current : { kind: 'turn', turnId: next.id, position: START, open: isOpen(next.state) };
}
