import type { DataSource, EntityManager } from 'typeorm';
import { transaction } from '../db/transaction.js';
import type { Config } from '../platform/config.js';
import type { Logger } from '../platform/logger.js';
import type { Notifier } from '../stream/notify.js';
import type { TurnPosition } from '../stream/position.js';
import { OvertakenError, TurnEndedError } from './errors.js';
import { observeOutcome, traceTurn } from './outcome.js';
import { saveTurn } from './save-turn.js';
import { Turn } from './turn.js';
import { lockTurnRow } from './turn-row.js';

export interface TurnDeps {
  db: DataSource;
  notifier: Notifier;
  log: Logger;
  /** Without it, the metadata of turns that end are kept until maintenance forgets them. */
  config?: Pick<Config, 'usageMetadataDays'>;
}

/** What a turn must be to accept a change. */
export type Fence = (turn: Turn) => boolean;

export const ifOpen: Fence = (turn) => turn.isOpen;
export const ifRunning: Fence = (turn) => turn.state === 'running';

/**
 * Changes one turn: locks its row, checks the fence, runs `work`, stores what the turn's methods changed, all or nothing, and
 * notifies watchers after the commit. Nothing else changes an existing turn or appends its events, but for `waitForTurn`
 * (src/messages/accept.ts): in a transaction that is open already, it notes that a message waits, which no watcher sees.
 *
 * `work` decides in plain TypeScript, and touches the transaction alone: the turn is locked meanwhile, and after a deadlock `work`
 * runs again on a turn that is loaded again. `next` runs in the same transaction, after the turn is stored: a step that ends the turn
 * begins the next one there (src/steps/model-step.ts), and only one turn of a session may be open.
 * @throws TurnEndedError, OvertakenError if the fence refuses the change
 */
export async function changeTurn<T>(
  deps: TurnDeps,
  turnId: string,
  fence: Fence,
  work: (turn: Turn, tx: EntityManager) => Promise<T> | T,
  next: (value: T, turn: Turn, tx: EntityManager) => Promise<T> | T = (value) => value,
): Promise<T> {
  const { value, turn } = await transaction(deps.db, async (tx) => {
    const turn = await lockTurn(tx, turnId, fence);
    const value = await work(turn, tx);
    saveTurn(tx, turn, deps);
    return { value: await next(value, turn, tx), turn };
  });
  await notifyWatchers(deps, turn);
  return value;
}

/** Locks a turn until the transaction ends, for a change that `saveTurn` stores. @throws TurnEndedError, OvertakenError */
export async function lockTurn(tx: EntityManager, turnId: string, fence: Fence): Promise<Turn> {
  const locked = await lockTurnRow(tx, turnId);
  if (locked === undefined) throw new TurnEndedError(turnId);
  const { now, ...row } = locked;
  const turn = new Turn(row, now);
  if (fence(turn)) return turn;
  throw turn.isOpen ? new OvertakenError(turnId) : new TurnEndedError(turnId, turn.state);
}

/** Notifies watchers of a committed change. If it ended the turn, the end is counted, logged and traced. */
async function notifyWatchers({ db, notifier, log }: TurnDeps, turn: Turn): Promise<void> {
  const { events, streamed, ended } = turn;
  if (events.length === 0) return;
  const before = events[0]!.position - 1;
  const after: TurnPosition = streamed?.deltas ? [before, streamed.attempt, streamed.deltas] : [before, 0, 0];
  notifier.notify(turn, streamed === null ? null : { after, events });
  if (ended === null) return;
  observeOutcome(turn, ended.result, log);
  await traceTurn(db, turn, ended.result);
}
