import { isDeepStrictEqual } from 'node:util';
import type { Db, Tx } from '../db/db.js';
import type { NewEvent } from '../events/schema.js';
import type { EventRow } from '../events/store.js';
import { validationError, ServiceError } from '../platform/errors.js';
import {
  findOtherCalls,
  loadActions,
  loadAuthorizations,
  loadElicitations,
  type Action,
  type Elicitation,
} from './actions.js';
import { denyAuthorization, type AuthorizationAction } from './authorization-wait.js';
import { requiresAction } from './elicitation.js';
import { checkContent } from './elicitation-content.js';
import { elicitationNotFound, notPending, questionNotPending } from './not-pending.js';
import { changeTurn, ifRunning, type TurnDeps } from '../turns/change-turn.js';
import { OvertakenError, TurnEndedError } from '../turns/errors.js';
import type { Turn } from '../turns/turn.js';

export type UserAnswer = CallAnswer | ElicitationAnswerEvent;
type CallAnswer = Extract<NewEvent, { type: 'user.tool_confirmation' | 'user.custom_tool_result' }>;
type ElicitationAnswerEvent = Extract<NewEvent, { type: 'user.elicitation_result' }>;

interface StoredAnswers {
  /** The events, one per answer, in order. */
  events: EventRow[];
  /** The turn whose workflow must read the answers; null if all of them were stored before. */
  turnId: string | null;
  stored: UserAnswer[];
}

/** What answers of a request belong to: calls by tool use id, and questions of servers by their id. */
interface Asked {
  actions: Map<string, Action>;
  /** Calls that wait or waited for an authorization; an answer can only deny them. */
  authorizations: Map<string, AuthorizationAction>;
  elicitations: Map<string, Elicitation>;
}

/**
 * Stores answers to calls and questions of a session: all or none. The turn's row is locked while this decides whether they
 * are open, so answers, cancel requests and expiries exclude each other. `record` runs in the same transaction.
 * @throws ServiceError tool_use_not_found, elicitation_not_found, validation_error, tool_use_not_pending,
 * elicitation_not_pending
 */
export async function storeAnswers(
  deps: TurnDeps,
  sessionId: string,
  answers: UserAnswer[],
  record: (db: Db, events: EventRow[]) => Promise<void>,
): Promise<StoredAnswers> {
  const load = async (db: Db): Promise<Asked> => ({
    actions: await loadActions(db, sessionId, idsOf(answers.filter(isCallAnswer))),
    authorizations: await loadAuthorizations(db, sessionId, idsOf(answers.filter(isDenial))),
    elicitations: await loadElicitations(db, sessionId, idsOf(answers.filter((answer) => !isCallAnswer(answer)))),
  });
  const asked = await load(deps.db);
  await requireFitting(deps.db, sessionId, answers, asked);
  const asking = selectNew(answers, asked);
  for (const answer of asking) {
    if (isCallAnswer(answer)) continue;
    checkContent(asked.elicitations.get(idOf(answer))!, answer.data, `/events/${answers.indexOf(answer)}`);
  }
  const [open] = asking;
  if (open === undefined) {
    const events = answers.map((answer) => askedFor(asked, answer).answer!);
    await record(deps.db, events);
    return { events, turnId: null, stored: [] };
  }
  const turnId = askedFor(asked, open).turn_id;
  try {
    return await changeTurn(deps, turnId, ifRunning, async (turn, tx) => {
      const locked = await load(tx);
      const fresh = selectNew(answers, locked);
      if (turn.cancelRequested) throw refusalOf(open, 'cancelled');
      await closeActions(tx, turn, fresh, locked);
      turn.append(...fresh, ...(await requiresAction(tx, turnId)));
      const added = new Map(fresh.map((answer, n) => [keyOf(answer), turn.events[n]!]));
      const events = answers.map((answer) => added.get(keyOf(answer)) ?? askedFor(locked, answer).answer!);
      await record(tx, events);
      return { events, turnId, stored: fresh };
    });
  } catch (error) {
    // The turn has ended since its actions were read, so they are cancelled now.
    if (error instanceof TurnEndedError) return storeAnswers(deps, sessionId, answers, record);
    throw error;
  }
}

function isCallAnswer(answer: UserAnswer): answer is CallAnswer {
  return answer.type !== 'user.elicitation_result';
}

function idOf(answer: UserAnswer): string {
  return isCallAnswer(answer) ? answer.data.tool_use_id : answer.data.elicitation_id;
}

function idsOf(answers: UserAnswer[]): string[] {
  return [...new Set(answers.map(idOf))];
}

/** Tool use ids come from the model: one may look like the id of a question. */
function keyOf(answer: UserAnswer): string {
  return `${isCallAnswer(answer) ? 'call' : 'question'} ${idOf(answer)}`;
}

function askedFor(
  { actions, authorizations, elicitations }: Asked,
  answer: UserAnswer,
): Action | AuthorizationAction | Elicitation {
  if (!isCallAnswer(answer)) return elicitations.get(idOf(answer))!;
  // The confirmation of a call comes before its authorization.
  const action = actions.get(idOf(answer));
  const wait = authorizations.get(idOf(answer));
  return wait === undefined || action?.state === 'denied' ? action! : wait;
}

function isDenial({ type, data }: UserAnswer): boolean {
  return type === 'user.tool_confirmation' && data.result === 'deny';
}

function refusalOf(answer: UserAnswer, state: string): ServiceError {
  return isCallAnswer(answer)
    ? notPending(answer.data.tool_use_id, state as Parameters<typeof notPending>[1])
    : questionNotPending(answer.data.elicitation_id, state as Parameters<typeof questionNotPending>[1]);
}

async function requireFitting(db: Db, sessionId: string, answers: UserAnswer[], asked: Asked): Promise<void> {
  const calls = answers.filter(isCallAnswer);
  const waiting = await loadAuthorizations(db, sessionId, idsOf(calls));
  for (const [index, answer] of answers.entries()) {
    const isWait = isCallAnswer(answer) && waiting.has(idOf(answer)) && !asked.actions.has(idOf(answer));
    if (isWait && answer.type === 'user.tool_confirmation' && !isDenial(answer))
      throw validationError(`/events/${index}/result`, 'must be deny: this call waits until its server is authorized');
  }
  const missing = calls.map(idOf).filter((id) => !asked.actions.has(id) && !waiting.has(id));
  const others = missing.length === 0 ? new Set<string>() : await findOtherCalls(db, sessionId, missing);
  const unknown = [...new Set(missing.filter((id) => !others.has(id)))];
  if (unknown.length > 0) {
    throw new ServiceError('tool_use_not_found', `The session has no call ${unknown.join(', ')}.`, {
      tool_use_ids: unknown,
    });
  }
  const unknownQuestions = idsOf(
    answers.filter((answer) => !isCallAnswer(answer) && !asked.elicitations.has(idOf(answer))),
  );
  if (unknownQuestions.length > 0) throw elicitationNotFound(unknownQuestions);
  for (const [index, answer] of answers.entries()) {
    if (!isCallAnswer(answer)) continue;
    const needed = asked.actions.get(idOf(answer))?.kind ?? 'tool_confirmation';
    if (answer.type !== `user.${needed}`)
      throw validationError(`/events/${index}/type`, `must be user.${needed} for this call`);
  }
  if (missing.length > 0) throw notPending(missing[0]!, 'not_required');
}

/**
 * Filters out answers that are stored already; a repetition is a success.
 * @throws ServiceError tool_use_not_pending or elicitation_not_pending for an answer to what is not open
 */
function selectNew(answers: UserAnswer[], asked: Asked): UserAnswer[] {
  const chosen = new Map<string, UserAnswer>();
  for (const answer of answers) {
    const { answer: stored, state } = askedFor(asked, answer);
    const earlier = chosen.get(keyOf(answer));
    if (earlier !== undefined) {
      if (isSameAnswer(earlier.data, answer.data)) continue;
      throw refusalOf(answer, stateAfter(earlier));
    }
    if (stored !== null && isSameAnswer(JSON.parse(stored.data) as UserAnswer['data'], answer.data)) continue;
    if (state !== 'open') throw refusalOf(answer, state === 'planned' ? 'not_asked' : state);
    chosen.set(keyOf(answer), answer);
  }
  return [...chosen.values()];
}

/** Who decided makes no other answer of it. */
function isSameAnswer({ actor: _, ...one }: UserAnswer['data'], { actor: __, ...other }: UserAnswer['data']): boolean {
  return isDeepStrictEqual(one, other);
}

function stateAfter({ type, data }: UserAnswer): 'answered' | 'allowed' | 'denied' {
  if (type !== 'user.tool_confirmation') return 'answered';
  return data.result === 'allow' ? 'allowed' : 'denied';
}

const CLOSE_ACTIONS = `
  UPDATE required_actions a
  SET state = answer.state, answer_position = answer.position, answered_at = $2, closed_at = $2
  FROM unnest($3::integer[], $4::integer[], $5::text[], $6::integer[]) AS answer (step, index, state, position)
  WHERE turn_id = $1 AND a.step = answer.step AND a.index = answer.index AND a.state = 'open'`;
const CLOSE_QUESTIONS = `
  UPDATE elicitations q SET state = 'answered', answer_position = answer.position, closed_at = $2
  FROM unnest($3::text[], $4::integer[]) AS answer (id, position)
  WHERE q.turn_id = $1 AND q.id = answer.id AND q.state = 'open'`;

/** The answers become the next events of the turn, in order. */
async function closeActions(tx: Tx, turn: Turn, answers: UserAnswer[], asked: Asked): Promise<void> {
  const all = answers.map((answer, n) => ({ answer, position: turn.position + n + 1 }));
  const isWait = ({ answer }: { answer: UserAnswer }): boolean =>
    asked.authorizations.get(idOf(answer)) === askedFor(asked, answer);
  for (const { answer, position } of all.filter(isWait)) {
    if (!(await denyAuthorization(tx, askedFor(asked, answer), turn.at, position))) throw new OvertakenError(turn.id);
  }
  const placed = all.filter((one) => !isWait(one));
  if (placed.length === 0) return;
  const calls = placed.filter(({ answer }) => isCallAnswer(answer));
  const questions = placed.filter(({ answer }) => !isCallAnswer(answer));
  const rows = calls.map(({ answer }) => askedFor(asked, answer));
  const [[, closed], [, answered]] = await Promise.all([
    tx.query<[unknown, number]>(CLOSE_ACTIONS, [
      ...[turn.id, turn.at, rows.map(({ step }) => step), rows.map(({ index }) => index)],
      ...[calls.map(({ answer }) => stateAfter(answer)), calls.map(({ position }) => position)],
    ]),
    tx.query<[unknown, number]>(CLOSE_QUESTIONS, [
      ...[turn.id, turn.at, questions.map(({ answer }) => idOf(answer)), questions.map(({ position }) => position)],
    ]),
  ]);
  if (closed + answered < placed.length) throw new OvertakenError(turn.id);
}
