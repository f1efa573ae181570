import type { Db, Tx } from '../db/db.js';
import { runSql, sql } from '../db/sql.js';
import { write } from '../db/transaction.js';
import type { NewEvent } from '../events/schema.js';
import type { AskedTool } from '../mcp/asked-tool.js';
import { findRemembered, keyOfTool } from '../sessions/remembered-approvals.js';
import { exactText, parseExact } from '../platform/exact-json.js';
import { jsonHash } from '../platform/json-hash.js';
import type { ToolUseBlock } from '../models/content.js';
import type { GivenResult } from './output.js';
import type { Turn } from '../turns/turn.js';
import { planWaits, type AskedApproval, type WaitType } from '../waits/store.js';

/** Requirement before a call runs: none, a person's decision, or a result from the client, which runs it. */
export type CallPermission = 'allow' | 'ask' | 'custom';

/** What a call needs before it runs. */
export interface CallApproval {
  /** Null in a session without `tools`. */
  permission: CallPermission | null;
  /** The groups of which one decides; empty: who may approve decides. */
  approvers: readonly string[];
}

export interface StepCall extends Pick<CallApproval, 'approvers'> {
  id: string;
  /** The tool's full name. */
  name: string;
  input: Record<string, unknown>;
  /** Null in a session without `tools`. `remembered`: a person allowed the tool for the session. */
  permission: CallPermission | 'remembered' | null;
  /** Of a call that a person must allow; null if its tool is not known. */
  asked: AskedTool | null;
  /** The result of a call that does not run; null if it runs. */
  given: GivenResult | null;
}

const APPROVAL: WaitType = 'tool_confirmation';
const NOT_RUN = 'Not run: the turn has reached its limit of model calls.';

/** The name and input of a call as its tool knows them. */
export type NamedCall = Pick<StepCall, 'name' | 'input'>;

/** Finds them: the model may know them by aliases. */
export type CallOf = (use: Pick<ToolUseBlock, 'name' | 'input'>) => NamedCall;

/** Describes the tools of calls that a person allows, in the order of the calls; null for a tool that is not known. */
export type AskedTools = (calls: NamedCall[]) => Promise<(AskedTool | null)[]>;

interface StepCallRules {
  callOf: CallOf;
  approvalOf: (call: NamedCall) => CallApproval;
  askedTools?: AskedTools;
  /** False at the turn's last step. */
  runs: boolean;
  /** The results that some calls have already, by their index. */
  given: ReadonlyMap<number, GivenResult>;
}

/** The calls of a model's response. Those that must not run have their result. */
export async function planCalls(
  db: Db,
  turnId: string,
  uses: ToolUseBlock[],
  { callOf, approvalOf, askedTools, runs, given }: StepCallRules,
): Promise<StepCall[]> {
  const calls = uses.map((use, index): StepCall => {
    const { name, input } = callOf(use);
    const result = given.get(index) ?? (runs ? null : refused(NOT_RUN));
    return { id: use.id, name, input, ...approvalOf({ name, input }), asked: null, given: result };
  });
  const asking = calls.filter(({ permission }) => permission === 'ask');
  if (!runs || asking.length === 0) return calls;
  const tools = (await askedTools?.(asking)) ?? [];
  const [denied, remembered] = await Promise.all([loadDeniedCalls(db, turnId), findRemembered(db, turnId)]);
  return calls.map((call) => {
    if (call.permission !== 'ask') return call;
    const earlier = denied.get(keyOf(call));
    if (earlier !== undefined) return { ...call, given: refused(deniedAgain(earlier.deny_message)) };
    const asked = tools[asking.indexOf(call)] ?? null;
    const isRemembered = asked !== null && asked.may_remember && remembered.has(keyOfTool(asked));
    return isRemembered ? { ...call, permission: 'remembered' } : { ...call, asked };
  });
}

/** decisions.md "Person in the loop": two calls are the same if name and input are equal as JSON values. */
function keyOf({ name, input }: Pick<StepCall, 'name' | 'input'>): string {
  return `${name} ${jsonHash(input).toString('hex')}`;
}

interface DeniedCall extends Pick<StepCall, 'name'> {
  input: string;
  deny_message: string | null;
}

async function loadDeniedCalls(db: Db, turnId: string): Promise<Map<string, Pick<DeniedCall, 'deny_message'>>> {
  const rows = await runSql<DeniedCall>(
    db,
    sql`SELECT c.name, c.input::text AS input, e.data->>'deny_message' AS deny_message
        FROM waits a JOIN tool_calls c USING (turn_id, step, index)
          JOIN turns t ON t.id = a.turn_id
          JOIN events e ON e.session_id = t.session_id AND e.turn_number = t.number AND e.position = a.answer_position
        WHERE a.turn_id = ${turnId} AND a.kind = ${APPROVAL} AND a.outcome = 'denied'`,
  );
  return new Map(rows.map((row) => [keyOf({ ...row, input: parseExact(row.input) as StepCall['input'] }), row]));
}

function refused(text: string): GivenResult {
  return { text, isError: true, hasEvents: true };
}

function deniedAgain(message: string | null): string {
  return (
    'A person denied the same call earlier in this turn, so it was not run and no one was asked again. ' +
    (message === null ? 'Go on without it.' : `The reason given then: ${message}`)
  );
}

const INSERT_CALLS = `
  INSERT INTO tool_calls (turn_id, step, index, tool_use_id, name, input, state, content, is_error)
  SELECT $1, $2::integer, n - 1, id, name, input, CASE WHEN content IS NULL THEN 'pending' ELSE 'done' END, content,
    is_error
  FROM unnest($3::text[], $4::text[], $5::json[], $6::json[], $7::boolean[])
    WITH ORDINALITY AS call (id, name, input, content, is_error, n)
  ON CONFLICT DO NOTHING`;
/** Stores the calls of a step, and which of them need an answer. May be repeated: a step may have no events. */
export function insertCalls(tx: Tx, turn: Turn, step: number, calls: StepCall[]): void {
  if (calls.length === 0) return;
  const ids = calls.map(({ id }) => id);
  const inputs = calls.map(({ input }) => exactText(input));
  const results = calls.map(({ given }) => given);
  write(tx, INSERT_CALLS, [
    ...[
      turn.id,
      step,
      ids,
      calls.map(({ name }) => name),
      inputs,
      results.map((result) => result && resultContent(result)),
    ],
    results.map((result) => result && result.isError),
  ]);
  const waits = calls.flatMap((call, index) =>
    needsAnswer(call) ? [{ index, toolUseId: call.id, kind: kindOf(call), ask: askOf(call) }] : [],
  );
  planWaits(tx, turn, step, waits);
}

export function needsAnswer({ permission, given }: StepCall): boolean {
  return given === null && (permission === 'ask' || permission === 'custom');
}

function kindOf({ permission }: StepCall): WaitType {
  return permission === 'custom' ? 'custom_tool_result' : APPROVAL;
}

function askOf({ approvers, asked }: StepCall): AskedApproval {
  return { ...asked, ...(approvers.length > 0 && { approvers }) };
}

function resultContent({ text }: GivenResult): string {
  return JSON.stringify([{ type: 'text', text }]);
}

/** The events of the calls in order, then the results of those that do not run. */
export function eventsOfCalls(planned: StepCall[]): NewEvent[] {
  const calls = planned.filter(({ given }) => given?.hasEvents !== false);
  const uses = calls.map(({ id, name, input, permission }): NewEvent => {
    const data = { tool_use_id: id, name, input };
    if (permission === 'custom') return { type: 'agent.custom_tool_use', data };
    return { type: 'agent.tool_use', data: permission === null ? data : { ...data, evaluated_permission: permission } };
  });
  const results = calls.flatMap(({ id, name, given }): NewEvent[] =>
    given === null
      ? []
      : [{ type: 'agent.tool_result', data: { tool_use_id: id, name, is_error: given.isError, content: given.text } }],
  );
  return [...uses, ...results];
}
