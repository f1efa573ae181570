import type { DataSource } from 'typeorm';
import { parseEventId, START, type Position } from '../../src/events/position.js';
import { isOpen, type TurnState } from '../../src/turns/states.js';
import { findTurn } from '../../src/turns/turn.js';

/** A place in a turn, and whether that turn is queued or running. */
export interface PlaceInTurn {
  kind: 'turn';
  turnId: string;
  position: Position;
  open: boolean;
}

/** Where a stream begins. */
export type StartingPoint =
  /** No turn yet: wait for the first one. */
  | { kind: 'wait' }
  /** After the terminal event of the current turn: nothing to send. */
  | { kind: 'over' }
  | PlaceInTurn;

/**
 * Decides where a stream of a session begins (contract.md §3 "Stream, …"): `Last-Event-ID` of any of its turns resumes
 * there; one that names the end of an earlier turn, or that is unknown, means the current turn from its start.
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
  return seen.turnId === session.last_turn_id ? { kind: 'over' } : current;
}
