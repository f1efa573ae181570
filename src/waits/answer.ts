import { isDeepStrictEqual } from 'node:util';
import type { AskedTool } from '../mcp/asked-tool.js';
import type { SchemaChecks } from '../outputs/schema-checks.js';
import { parseExact } from '../platform/exact-json.js';
import { rememberApproval } from '../sessions/remembered-approvals.js';
import { changeInput, checkChangedInput, isModelInput } from './changed-input.js';
import type { Db, Tx } from '../db/db.js';
import { transaction } from '../db/transaction.js';
import type { NewEvent } from '../events/schema.js';
import type { EventRow } from '../events/store.js';
import { validationError, ServiceError } from '../platform/errors.js';
import { requireApprover } from '../projects/approver-groups.js';
import { changeTurn, ifRunning, type TurnDeps } from '../turns/change-turn.js';
import { OvertakenError, TurnEndedError } from '../turns/errors.js';
import { findOtherCalls, loadAnswerable, type Answerable, type AnswerableWait } from './answerable.js';
import { kindOf } from './kinds/index.js';
import type { AnswerType, Outcome } from './kinds/wait-kind.js';
import { elicitationNotFound, notPending, questionNotPending } from './not-pending.js';
import { closeWaits, requiresAction } from './store.js';

export type UserAnswer = Extract<NewEvent, { type: AnswerType }>;
type CallAnswer = Exclude<UserAnswer, { type: 'user.elicitation_result' }>;

/** The answers of a request. */
interface GivenAnswers {
  answers: UserAnswer[];
  /** The groups in which the one who sends them approves calls. */
  approverGroups: ReadonlySet<string>;
}

interface StoredAnswers {
  /** The events, one per answer, in order. */
  events: EventRow[];
  /** The turn whose workflow must read the answers; null if all of them were stored before. */
  turnId: string | null;
  stored: UserAnswer[];
}

/** An answer of a request, with its place there. */
interface Given {
  answer: UserAnswer;
  path: string;
}

/**
 * Stores answers to calls and questions of a session: all or none. The turn's row is locked while this decides whether they
 * are open, so answers, cancel requests and expiries exclude each other. `record` runs in the same transaction, with the events of all
 * answers and the answers that are new.
 * @throws ServiceError tool_use_not_found, elicitation_not_found, not_an_approver, validation_error, tool_use_not_pending,
 * elicitation_not_pending
 */
export async function storeAnswers(
  deps: TurnDeps & { schemaChecks: SchemaChecks },
  session: { id: string; project_id: string },
  { answers: written, approverGroups }: GivenAnswers,
  record: (tx: Tx, events: EventRow[], fresh: UserAnswer[]) => Promise<void>,
): Promise<StoredAnswers> {
  const named = {
    toolUseIds: idsOf(written.filter(isCallAnswer)),
    questionIds: idsOf(written.filter(isQuestionAnswer)),
  };
  const load = (db: Db): Promise<Answerable> => loadAnswerable(db, session.id, named);
  const asked = await load(deps.db);
  const answers = written.map((answer) => withoutModelInput(answer, waitsOf(asked, answer)));
  const given = answers.map((answer, index): Given => ({ answer, path: `/events/${index}` }));
  await requireFitting(deps.db, session.id, given, asked, approverGroups);
  const asking = selectNew(given, asked);
  for (const one of asking) outcomeOf(one, waitOf(asked, one.answer));
  const [open] = asking;
  if (open === undefined) {
    const events = answers.map((answer) => waitOf(asked, answer).answer!);
    await transaction(deps.db, (tx) => record(tx, events, []));
    return { events, turnId: null, stored: [] };
  }
  const turnId = waitOf(asked, open.answer).turn_id;
  for (const { answer, path } of asking) {
    const input = inputOf(answer);
    if (input !== null)
      await checkChangedInput(deps, session.project_id, { wait: waitOf(asked, answer), input, path: `${path}/input` });
  }
  try {
    return await changeTurn(deps, turnId, ifRunning, async (turn, tx) => {
      const locked = await load(tx);
      requireApprovers(given, locked, approverGroups);
      const fresh = selectNew(given, locked);
      if (turn.cancelRequested) throw refusalOf(open.answer, 'cancelled');
      const closed = fresh.map((one, n) => {
        const wait = waitOf(locked, one.answer);
        // The answers become the next events of the turn, in order.
        return { id: wait.id, outcome: outcomeOf(one, wait), position: turn.position + n + 1 };
      });
      if (closed.length > 0 && (await closeWaits(tx, turn, closed)) < closed.length) throw new OvertakenError(turnId);
      for (const { answer, path } of fresh) {
        const wait = waitOf(locked, answer);
        const input = inputOf(answer);
        if (input !== null) await changeInput(tx, wait, input);
        if (answer.type === 'user.tool_confirmation' && answer.data.remember !== null) {
          const { tool_use_id: toolUseId, actor } = answer.data;
          await rememberApproval(tx, turn, { tool: wait.ask as AskedTool, name: wait.name!, toolUseId, actor, path });
        }
      }
      turn.append(...fresh.map(({ answer }) => answer), ...(await requiresAction(tx, turnId)));
      const added = new Map(fresh.map(({ answer }, n) => [keyOf(answer), turn.events[n]!]));
      const events = answers.map((answer) => added.get(keyOf(answer)) ?? waitOf(locked, answer).answer!);
      const stored = fresh.map(({ answer }) => answer);
      await record(tx, events, stored);
      return { events, turnId, stored };
    });
  } catch (error) {
    // The turn has ended since its waits were read, so they are cancelled now.
    if (error instanceof TurnEndedError)
      return storeAnswers(deps, session, { answers: written, approverGroups }, record);
    throw error;
  }
}

function isQuestionAnswer(answer: UserAnswer): answer is Exclude<UserAnswer, CallAnswer> {
  return answer.type === 'user.elicitation_result';
}

function isCallAnswer(answer: UserAnswer): answer is CallAnswer {
  return !isQuestionAnswer(answer);
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

/** The input of a confirmation that a person has changed; null without one. */
function inputOf({ type, data }: UserAnswer): object | null {
  return type === 'user.tool_confirmation' ? (data.input ?? null) : null;
}

/** An input that is the model's own is none: pages send back what they showed. */
function withoutModelInput(answer: UserAnswer, [wait]: AnswerableWait[]): UserAnswer {
  const input = inputOf(answer);
  if (answer.type !== 'user.tool_confirmation' || input === null || wait === undefined) return answer;
  return isModelInput(input, wait) ? { ...answer, data: { ...answer.data, input: null } } : answer;
}

function waitsOf({ calls, questions }: Answerable, answer: UserAnswer): AnswerableWait[] {
  return (isCallAnswer(answer) ? calls : questions).get(idOf(answer)) ?? [];
}

/** The wait that an answer belongs to: the one that has this answer already, else the open one, else the latest. */
function waitOf(asked: Answerable, answer: UserAnswer): AnswerableWait {
  const waits = waitsOf(asked, answer);
  return waits.find((wait) => hasAnswer(wait, answer)) ?? waits.find(({ state }) => state === 'open') ?? waits[0]!;
}

function hasAnswer({ answer: stored }: AnswerableWait, { data }: UserAnswer): boolean {
  return stored !== null && isSameAnswer(storedAnswer(stored.data), data);
}

/** @throws ServiceError validation_error */
function outcomeOf({ answer: { type, data }, path }: Given, { kind, ask }: AnswerableWait): Outcome {
  return kindOf(kind).answers[type]!(ask as never, data as never, path);
}

function refusalOf(answer: UserAnswer, state: Parameters<typeof notPending>[1]): ServiceError {
  return (isCallAnswer(answer) ? notPending : questionNotPending)(idOf(answer), state);
}

async function requireFitting(
  db: Db,
  sessionId: string,
  given: Given[],
  asked: Answerable,
  approverGroups: ReadonlySet<string>,
): Promise<void> {
  const waiting = given.filter(({ answer }) => waitsOf(asked, answer).length > 0);
  // An answer to a call is checked whatever the state of its wait, one to a question only while it is open.
  for (const one of waiting) {
    const wait = waitOf(asked, one.answer);
    if (isCallAnswer(one.answer) && isTypeOf(one.answer, wait)) outcomeOf(one, wait);
  }
  const missing = given.map(({ answer }) => answer).filter((answer) => waitsOf(asked, answer).length === 0);
  const calls = missing.filter(isCallAnswer).map(idOf);
  const others = calls.length === 0 ? new Set<string>() : await findOtherCalls(db, sessionId, calls);
  const unknown = [...new Set(calls.filter((id) => !others.has(id)))];
  if (unknown.length > 0) {
    throw new ServiceError('tool_use_not_found', `The session has no call ${unknown.join(', ')}.`, {
      tool_use_ids: unknown,
    });
  }
  const unknownQuestions = idsOf(missing.filter(isQuestionAnswer));
  if (unknownQuestions.length > 0) throw elicitationNotFound(unknownQuestions);
  requireApprovers(given, asked, approverGroups);
  for (const { answer, path } of given) {
    const [wait] = waitsOf(asked, answer);
    const needed = wait === undefined ? ['user.tool_confirmation'] : Object.keys(kindOf(wait.kind).answers);
    if (isCallAnswer(answer) && !needed.includes(answer.type))
      throw validationError(`${path}/type`, `must be ${needed[0]!} for this call`);
  }
  if (calls.length > 0) throw notPending(calls[0]!, 'not_required');
}

/** Also a repeat of an answer that is stored needs the group. @throws ServiceError not_an_approver */
function requireApprovers(given: Given[], asked: Answerable, approverGroups: ReadonlySet<string>): void {
  for (const { answer } of given) {
    if (waitsOf(asked, answer).length === 0) continue;
    const { kind, ask } = waitOf(asked, answer);
    const approvers = kindOf(kind).approversOf?.(ask as never) ?? [];
    if (approvers.length > 0) requireApprover(approverGroups, approvers);
  }
}

function isTypeOf({ type }: UserAnswer, { kind }: AnswerableWait): boolean {
  return kindOf(kind).answers[type] !== undefined;
}

/**
 * Filters out answers that are stored already; a repetition is a success.
 * @throws ServiceError tool_use_not_pending or elicitation_not_pending for an answer to what is not open
 */
function selectNew(given: Given[], asked: Answerable): Given[] {
  const chosen = new Map<string, Given>();
  for (const one of given) {
    const { answer } = one;
    const wait = waitOf(asked, answer);
    const earlier = chosen.get(keyOf(answer));
    if (earlier !== undefined) {
      if (isSameAnswer(earlier.answer.data, answer.data)) continue;
      throw refusalOf(answer, outcomeOf(earlier, wait));
    }
    if (hasAnswer(wait, answer)) continue;
    if (wait.state !== 'open') throw refusalOf(answer, wait.outcome ?? 'not_asked');
    chosen.set(keyOf(answer), one);
  }
  return [...chosen.values()];
}

/** Confirmations of earlier versions have neither an input nor anything to remember. */
function storedAnswer(json: string): UserAnswer['data'] {
  const data = parseExact(json) as UserAnswer['data'];
  return 'deny_message' in data ? { ...data, input: data.input ?? null, remember: data.remember ?? null } : data;
}

/** Who decided makes no other answer of it. */
function isSameAnswer({ actor: _, ...one }: UserAnswer['data'], { actor: __, ...other }: UserAnswer['data']): boolean {
  return isDeepStrictEqual(one, other);
}
