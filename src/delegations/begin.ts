import type { Tx } from '../db/db.js';
import { runSql, sql } from '../db/sql.js';
import { write } from '../db/transaction.js';
import type { FileSnapshot } from '../events/fields.js';
import { previewOf } from '../messages/accept.js';
import type { Price } from '../models/price.js';
import { newId } from '../platform/ids.js';
import { traceparent } from '../platform/tracing.js';
import type { Budget } from '../sessions/budget.js';
import { configurationIdOf } from '../sessions/agent-of-session.js';
import { insertSessionState } from '../sessions/store.js';
import { MAX_CHILDREN } from '../sessions/tools.js';
import type { CallableAgent } from '../steps/context.js';
import { sessionFiles } from '../steps/session-files.js';
import {
  hasOpenTurn,
  launchTurn,
  lockForTurn,
  openTurn,
  type LaunchDeps,
  type LockedSession,
  type QueuedTurn,
} from '../turns/begin.js';
import { changeTurn, ifRunning, type TurnDeps } from '../turns/change-turn.js';
import type { EventToAppend, Turn } from '../turns/turn.js';
import { MAX_OPEN_CHILDREN, waitForChild } from '../waits/child.js';
import { findCalledAgent, type CalledAgent } from './called-agent.js';

/** A call of an agent. The input has the form that the tool's schema says. */
export interface AgentCall {
  turnId: string;
  step: number;
  index: number;
  toolUseId: string;
  agent: CallableAgent;
  input: { message: string; files?: string[]; session_id?: string };
}

type BeginDeps = TurnDeps &
  LaunchDeps & {
    /** The price of a model of the catalogue; null without one. */
    priceOf: (modelId: string) => Price | null;
  };

/** `waits`: for the turn that it has begun, or for a place. Else why nothing began, for the model. */
export type Begun = 'waits' | { refused: string };

/** Nothing begins. */
class RefusedError extends Error {
  override readonly name = 'RefusedError';
}

/**
 * Begins the turn of another agent for a call, once: the call, the child session, its turn and `agent.delegated` are one transaction.
 * May be repeated, and by two attempts at once.
 * @throws TurnEndedError, OvertakenError
 */
export async function beginChild(deps: BeginDeps, call: AgentCall): Promise<Begun> {
  let child = null as QueuedTurn | null;
  try {
    const begun = await changeTurn(deps, call.turnId, ifRunning, async (turn, tx): Promise<Begun> => {
      child = null;
      const place = await readPlace(tx, call);
      if (place.childTurnId !== null) {
        if (place.waits) turn.stayStill();
        else await waitForChild(tx, turn, call, place.childTurnId);
        return 'waits';
      }
      if (turn.cancelRequested) throw new RefusedError('Not begun: the turn is being cancelled.');
      if (place.begun >= MAX_CHILDREN)
        throw new RefusedError(`Not begun: this turn has begun ${MAX_CHILDREN} turns of other agents, its limit.`);
      if (place.isNamedBefore) throw new RefusedError(`Not begun: ${BUSY}`);
      if (place.open >= MAX_OPEN_CHILDREN) {
        if (!place.waits) await waitForChild(tx, turn, call, null);
        return 'waits';
      }
      child = await begin(tx, deps, turn, call, place.budget);
      await waitForChild(tx, turn, call, child.id);
      return 'waits';
    });
    if (child !== null) launchTurn(deps, child);
    return begun;
  } catch (error) {
    if (error instanceof RefusedError) return { refused: error.message };
    throw error;
  }
}

const BUSY = 'the session works on another call. Wait for its result, or leave session_id out.';

interface Place {
  /** The turn that the call has begun. */
  childTurnId: string | null;
  /** The call waits already. */
  waits: boolean;
  /** An earlier call of the step names the same session. */
  isNamedBefore: boolean;
  /** How many turns the calls of the turn have begun, and how many of them are open or have a call before this one. */
  begun: number;
  open: number;
  /** Of the session of the call. */
  budget: Budget | null;
}

const PLACE = `
  SELECT d.child_turn_id AS "childTurnId",
    EXISTS (SELECT FROM waits w WHERE w.turn_id = $1 AND w.step = $2 AND w.index = $3 AND w.kind = 'child_turn' AND w.state = 'open') AS waits,
    $4::text IS NOT NULL AND EXISTS (
      SELECT FROM tool_calls c LEFT JOIN delegations b ON (b.turn_id, b.step, b.index) = (c.turn_id, c.step, c.index)
      WHERE c.turn_id = $1 AND c.step = $2 AND c.index < $3 AND c.input->>'session_id' = $4
        AND (c.state <> 'done' OR b.turn_id IS NOT NULL)) AS "isNamedBefore",
    (SELECT count(*)::integer FROM delegations WHERE turn_id = $1) AS begun,
    (SELECT count(*)::integer FROM open_turns WHERE parent_turn_id = $1) + (
      SELECT count(*)::integer FROM waits w
      WHERE w.turn_id = $1 AND w.step = $2 AND w.index < $3 AND w.kind = 'child_turn' AND w.state = 'open'
        AND w.ask->>'child_turn_id' IS NULL) AS open,
    (SELECT budget FROM sessions WHERE id = t.session_id) AS budget
  FROM turns t LEFT JOIN delegations d ON (d.turn_id, d.step, d.index) = (t.id, $2::integer, $3::integer) WHERE t.id = $1`;

async function readPlace(tx: Tx, { turnId, step, index, input }: AgentCall): Promise<Place> {
  const [place] = await tx.query<[Place]>(PLACE, [turnId, step, index, input.session_id ?? null]);
  return place;
}

const INSERT_DELEGATION = `
  INSERT INTO delegations (turn_id, step, index, agent_id, agent_version, child_session_id, child_turn_id, created_at)
  VALUES ($1, $2, $3, $4, $5, $6, $7, $8)`;
/** The time of the call is that of the turn which it has begun. */
const START_CALL = `UPDATE tool_calls SET started_at = coalesce(started_at, $4) WHERE turn_id = $1 AND step = $2 AND index = $3`;

/** @throws RefusedError */
async function begin(tx: Tx, deps: BeginDeps, turn: Turn, call: AgentCall, budget: Budget | null): Promise<QueuedTurn> {
  const { agent, input, step, index, toolUseId } = call;
  const files = await namedFiles(tx, turn, input.files ?? []);
  const called = await findCalledAgent(tx, turn.projectId, agent);
  if (called === null) throw new RefusedError(`Not begun: the agent ${agent.name} was deleted.`);
  requirePrices(deps, budget, called);
  const session =
    input.session_id === undefined
      ? await newChild(tx, turn, called, deps.priceOf(called.modelIds[0]!)?.currency ?? null)
      : await lockChild(tx, turn, call, input.session_id);
  const child = { id: newId('turn'), trace: traceparent(), model_id: null, thinking_enabled: null, sent_by: null };
  const message: EventToAppend = { type: 'user.message', data: { content: input.message, files, skills: [] } };
  const options = { namespace: deps.workflows.namespace, preview: previewOf(input.message) };
  const opened = openTurn(tx, session.locked, { ...child, parent_turn_id: turn.id }, message, options);
  const { version } = session;
  write(tx, INSERT_DELEGATION, [turn.id, step, index, agent.id, version, session.locked.id, child.id, turn.at]);
  write(tx, START_CALL, [turn.id, step, index, turn.at]);
  turn.delegate();
  turn.append({
    type: 'agent.delegated',
    data: {
      ...{ tool_use_id: toolUseId, agent_id: agent.id, agent_version: version },
      ...{ child_session_id: session.locked.id, child_turn_id: child.id },
    },
  });
  return opened;
}

async function namedFiles(tx: Tx, { sessionId, projectId }: Turn, ids: string[]): Promise<FileSnapshot[]> {
  if (ids.length === 0) return [];
  const known = new Map((await sessionFiles(tx, { sessionId, projectId })).map((file) => [file.id, file]));
  const missing = ids.filter((id) => known.get(id)?.storage_key == null);
  if (missing.length > 0)
    throw new RefusedError(`Not begun: no file of this conversation has the id ${missing.join(', ')}.`);
  return ids.map((id) => {
    const { filename, mime_type, size_bytes } = known.get(id)!;
    return { id, filename, mime_type, size_bytes };
  });
}

function requirePrices({ priceOf }: BeginDeps, budget: Budget | null, { name, modelIds }: CalledAgent): void {
  if (budget === null || modelIds.every((id) => priceOf(id)?.currency === budget.max_cost.currency)) return;
  throw new RefusedError(`Not begun: the session has a budget, and a model of the agent ${name} has no price.`);
}

interface ChildSession {
  locked: LockedSession;
  /** Of the agent. */
  version: number;
}

const INSERT_CHILD = `
  INSERT INTO sessions (id, project_id, configuration_id, agent_id, agent_version, metadata, currency, end_user, parent_session_id,
    created_at, metadata_updated_at)
  SELECT $1, project_id, $3, $4, $5, metadata, $6, end_user, id, $7::timestamptz, $7::timestamptz FROM sessions WHERE id = $2`;

/** A session with the agent's configuration, and with user and metadata of the calling one. */
async function newChild(
  tx: Tx,
  { projectId, sessionId, at }: Turn,
  { agentId, version }: CalledAgent,
  currency: string | null,
): Promise<ChildSession> {
  const id = newId('session');
  write(tx, INSERT_CHILD, [id, sessionId, configurationIdOf(agentId, version), agentId, version, currency, at]);
  insertSessionState(tx, id, 'idle');
  return { version, locked: await lockForTurn(tx, projectId, id) };
}

/** A session in which the agent has worked before, with the version that it has. */
async function lockChild(
  tx: Tx,
  { projectId, sessionId }: Turn,
  { agent }: AgentCall,
  id: string,
): Promise<ChildSession> {
  const [row] = await runSql<{ version: number }>(
    tx,
    sql`SELECT agent_version AS version FROM sessions
        WHERE id = ${id} AND project_id = ${projectId} AND parent_session_id = ${sessionId} AND agent_id = ${agent.id}
          AND deleted_at IS NULL`,
  );
  if (row === undefined)
    throw new RefusedError(
      `Not begun: ${id} is no session in which ${agent.name} worked for this one. Sessions of before a fork stay with the old session. ` +
        'Leave session_id out to begin a new one.',
    );
  const locked = await lockForTurn(tx, projectId, id);
  if (hasOpenTurn(locked)) throw new RefusedError(`Not begun: ${BUSY}`);
  return { locked, version: row.version };
}
