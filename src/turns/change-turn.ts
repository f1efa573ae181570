import type { Database, Tx } from '../db/db.js';
import { transaction, write } from '../db/transaction.js';
import { insertEvents, notifyDeliveries } from '../events/store.js';
import { ownerOf } from '../sessions/child-session.js';
import type { Config } from '../platform/config.js';
import { ignored } from '../platform/ignored.js';
import type { Logger } from '../platform/logger.js';
import { configurationOfTurn, MODEL_ID } from '../sessions/configured.js';
import type { Notifier } from '../stream/notify.js';
import type { TurnPosition } from '../stream/position.js';
import type { TurnWorkflows } from '../temporal/turn-workflows.js';
import { OvertakenError, TurnEndedError } from './errors.js';
import { observeOutcome, traceTurn } from './outcome.js';
import type { TurnResult } from './outcome.js';
import type { ModelUsage } from './spent.js';
import { Turn } from './turn.js';
import { lockTurnRow, updateTurnRow } from './turn-row.js';

export interface TurnDeps {
  db: Database;
  notifier: Notifier;
  log: Logger;
  /** Signals the turn that waits for one that ends. Without it, the reconciler finds that. */
  workflows?: Partial<TurnWorkflows>;
  /** Without it, the metadata of turns that end are kept until maintenance forgets them. */
  config?: Pick<Config, 'usageMetadataDays'>;
}

/** What a turn must be to accept a change. */
export type Fence = (turn: Turn) => boolean;

export const ifOpen: Fence = (turn) => turn.isOpen;
export const ifRunning: Fence = (turn) => turn.state === 'running';

/** What only some changes need. */
interface MoreOfChange<Ahead> {
  /**
   * Statements that travel with the one that locks the turn, and so cost no round trip of their own. They see the locked row. If the
   * fence refuses the change, they are undone with it.
   */
  ahead?: (tx: Tx) => Promise<Ahead>;
  /**
   * Runs in the same transaction, after the turn is stored: a step that ends the turn begins the next one there
   * (src/steps/model-step.ts), and only one turn of a session may be open.
   */
  afterSave?: (turn: Turn, tx: Tx) => Promise<void>;
}

/**
 * Changes one turn: locks its row, checks the fence, runs `work`, stores what the turn's methods changed, all or nothing, and
 * notifies watchers after the commit. Nothing else changes an existing turn or appends its events.
 *
 * `work` decides in plain TypeScript, and touches the transaction alone: the turn is locked meanwhile, and after a deadlock `work`
 * runs again on a turn that is loaded again. It gets what the statements of `ahead` returned.
 * @throws TurnEndedError, OvertakenError if the fence refuses the change
 */
export async function changeTurn<T, Ahead = undefined>(
  deps: TurnDeps,
  turnId: string,
  fence: Fence,
  work: (turn: Turn, tx: Tx, ahead: Ahead) => Promise<T> | T,
  { ahead, afterSave }: MoreOfChange<Ahead> = {},
): Promise<T> {
  const { value, turn } = await transaction(deps.db, async (tx) => {
    const changed = await changeTurnIn(tx, deps, turnId, fence, work, ahead);
    await afterSave?.(changed.turn, tx);
    return changed;
  });
  await notifyWatchers(deps, turn);
  return value;
}

/** As `changeTurn`, in a transaction that is open already, for changes that watchers do not see: it notifies nobody. */
export async function changeTurnIn<T, Ahead = undefined>(
  tx: Tx,
  deps: Pick<TurnDeps, 'config'>,
  turnId: string,
  fence: Fence,
  work: (turn: Turn, tx: Tx, ahead: Ahead) => Promise<T> | T,
  ahead?: (tx: Tx) => Promise<Ahead>,
): Promise<{ value: T; turn: Turn }> {
  const locking = lockTurn(tx, turnId, fence);
  const sent = ahead?.(tx);
  sent?.catch(ignored('if the lock fails, so does the change'));
  const turn = await locking;
  const value = await work(turn, tx, (await sent) as Ahead);
  saveTurn(tx, turn, deps);
  return { value, turn };
}

/** Locks a turn until the transaction ends. @throws TurnEndedError, OvertakenError */
async function lockTurn(tx: Tx, turnId: string, fence: Fence): Promise<Turn> {
  const locked = await lockTurnRow(tx, turnId);
  if (locked === undefined) throw new TurnEndedError(turnId);
  const { now, ...row } = locked;
  const turn = new Turn(row, now);
  if (fence(turn)) return turn;
  throw turn.isOpen ? new OvertakenError(turnId) : new TurnEndedError(turnId, turn.state);
}

/** Stores what a change did to a turn that the transaction has locked. */
function saveTurn(tx: Tx, turn: Turn, { config }: Pick<TurnDeps, 'config'>): void {
  const { row, events, ended } = turn;
  updateTurnRow(tx, row);
  if (events.length > 0) insertEvents(tx, row, events);
  if (ended !== null) closeTurn(tx, turn, ended, config?.usageMetadataDays !== 0);
  else if (turn.cancelRequested) write(tx, MARK_CANCELLED, [row.id, row.cancel_requested_at]);
}

/** Notifies watchers of a committed change. If it ended the turn, the end is counted, logged and traced. */
async function notifyWatchers({ db, notifier, log, workflows }: TurnDeps, turn: Turn): Promise<void> {
  const { events, streamed, ended } = turn;
  if (events.length === 0) return;
  const before = events[0]!.position - 1;
  const after: TurnPosition = streamed?.deltas ? [before, streamed.call, streamed.deltas] : [before, 0, 0];
  notifier.notify(turn, streamed === null ? null : { after, events });
  notifyDeliveries(notifier, events);
  if (ended === null) return;
  observeOutcome(turn, ended, log);
  if (turn.parentTurnId !== null) signalParent(turn.parentTurnId, { workflows, log });
  await traceTurn(db, turn, ended);
}

/** Signals the turn that waits for this one. If the signal is lost, the reconciler sends it again (src/delegations/rounds). */
function signalParent(turnId: string, { workflows, log }: Pick<TurnDeps, 'workflows' | 'log'>): void {
  workflows
    ?.signalAnswers?.(turnId)
    .catch((err: unknown) =>
      log.warn({ err, turn_id: turnId }, 'the end of a child turn did not reach Temporal; the reconciler tries again'),
    );
}

const MARK_CANCELLED =
  'UPDATE open_turns SET cancel_requested_at = $2 WHERE turn_id = $1 AND cancel_requested_at IS NULL';

/** What goes with the end of a turn: its place among the open ones, what it waits for, and what it took of each model. */
function closeTurn(tx: Tx, { row }: Turn, { byModel }: TurnResult, keepsMetadata: boolean): void {
  write(tx, CLOSE_TURN, [row.id, row.ended_at, row.session_id, row.state]);
  const models = byModel.length === 0 ? [UNUSED] : byModel;
  const of = (pick: (usage: ModelUsage | typeof UNUSED) => unknown): unknown[] => models.map(pick);
  write(tx, INSERT_TURN_USAGE, [
    ...[row.id, row.session_id, row.ended_at, keepsMetadata, row.model_id, row.currency],
    ...[of(({ modelId }) => modelId), of(({ modelCalls }) => modelCalls), of(({ input }) => input)],
    ...[of(({ tokens }) => tokens.output_tokens), of(({ tokens }) => tokens.cache_read_input_tokens)],
    ...[of(({ tokens }) => tokens.cache_creation_input_tokens), of(({ cost }) => cost)],
    ...[of(({ isUnpriced }) => isUnpriced), row.agent_id, row.agent_version],
  ]);
}

/** One statement costs less than three. Mostly nothing waits, and the session's state is that of the turn before. */
const CLOSE_TURN = `
  WITH waiting AS (
      UPDATE waits SET state = 'closed', outcome = 'cancelled', closed_at = $2 WHERE turn_id = $1 AND state <> 'closed'),
    session AS (UPDATE session_states SET state = $4 WHERE session_id = $3 AND state <> $4)
  DELETE FROM open_turns WHERE turn_id = $1`;

/** A turn without calls counts for the model that it asked for. */
const UNUSED = {
  modelId: null,
  modelCalls: 0,
  tokens: { output_tokens: '0', cache_read_input_tokens: '0', cache_creation_input_tokens: '0' },
  ...{ input: '0', cost: '0', isUnpriced: false },
};

/**
 * For GET usage. The user of the session is among the metadata, under the key that no client can give, so that it is summed up and
 * forgotten as they are. Rows that exist stay, as after a restore. Sums over turns are made later (src/turns/usage-sums).
 */
const INSERT_TURN_USAGE = `
  INSERT INTO turn_usage (turn_id, model_id, project_id, session_id, ended_at, metadata, model_calls, input_tokens,
    output_tokens, cache_read_input_tokens, cache_creation_input_tokens, cost, currency, is_unpriced, is_first, agent_id, agent_version)
  SELECT $1, coalesce(m.model_id, $5, (
      SELECT ${MODEL_ID} FROM turns t ${configurationOfTurn('t')} WHERE t.id = $1)), s.project_id,
    o.id, $3::timestamptz,
    CASE WHEN NOT $4::boolean THEN '{}' WHEN o.end_user IS NULL THEN o.metadata
      ELSE (o.metadata::jsonb || jsonb_build_object('', o.end_user))::json END, model_calls, input, output, cache_read, cache_write, cost, $6,
    is_unpriced, n = 1, $15, $16
  FROM sessions s JOIN sessions o ON o.id = ${ownerOf('s')}, unnest($7::text[], $8::integer[], $9::bigint[], $10::bigint[], $11::bigint[], $12::bigint[],
    $13::numeric[], $14::boolean[])
    WITH ORDINALITY AS m (model_id, model_calls, input, output, cache_read, cache_write, cost, is_unpriced, n)
  WHERE s.id = $2
  ON CONFLICT DO NOTHING`;
