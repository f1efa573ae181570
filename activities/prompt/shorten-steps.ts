import pLimit from 'p-limit';
import { sql, type Sql } from '../../src/db/sql.js';
import { writeTurn } from '../../src/turns/write.js';
import type { ActivityDeps } from '../deps.js';
import { shortenResult, textOf, type ShortenedResult } from '../../src/turns/shorten-result.js';
import type { PastCall, PastStep, PastTurn } from '../../src/turns/conversation.js';
import { bytesOf, estimate } from './tokens.js';
import type { AssistantBlock } from '../../src/turns/content.js';

/** Results up to that stay as they are: the line in their place is about as long. */
const SMALL_RESULT_BYTES = 400;
/** Longer texts and inputs of the model itself are cut to their start. */
const LONG_TEXT = 1000;
const KEPT_TEXT = 200;
const PARALLEL_PUTS = 16;

/** What of a turn is to be shortened: results by how much of them stays, steps by their number. */
interface Plan {
  results: { step: number; call: PastCall; keepBytes: number }[];
  contents: { step: number; content: AssistantBlock[] }[];
}

/**
 * Makes room within the running turn, so that an agent survives its hundredth step: results of its older steps give way
 * to a line on how to read them again, the model's own long texts to their start, oldest first until about `excess`
 * tokens are gone. What is shortened stays so: the prompt cache loses its prefix once, not at every step. Events keep
 * everything. Returns false when there was nothing left to shorten.
 */
export async function shortenOlderSteps(deps: ActivityDeps, turn: PastTurn, excess: number): Promise<boolean> {
  const plan: Plan = { results: [], contents: [] };
  let freed = 0;
  for (const step of turn.steps.slice(0, -1)) {
    if (freed >= excess) break;
    freed += planStep(plan, step, 0);
  }
  return carryOut(deps, turn, plan);
}

/** Cuts the results of the newest step to equal shares of `room` tokens. Returns false when all are that short. */
export async function shortenNewestStep(deps: ActivityDeps, turn: PastTurn, room: number): Promise<boolean> {
  const newest = turn.steps.at(-1);
  if (newest === undefined) return false;
  const plan: Plan = { results: [], contents: [] };
  planStep(plan, newest, Math.floor(bytesOf(room) / Math.max(1, newest.calls.length)));
  return carryOut(deps, turn, plan);
}

/** Plans one step; returns about how many tokens that frees. */
function planStep(plan: Plan, step: PastStep, keepBytes: number): number {
  let freed = 0;
  for (const call of step.calls) {
    if (call.content === null) continue;
    const size = Buffer.byteLength(textOf(call.content));
    const isMedia = call.content.some((block) => block.type !== 'text');
    if (size <= keepBytes + SMALL_RESULT_BYTES && !(isMedia && keepBytes === 0)) continue;
    plan.results.push({ step: step.step, call, keepBytes });
    freed += estimate(textOf(call.content)) + (isMedia ? 1000 : 0);
  }
  const content = step.content.map(shortenBlock);
  const saved = estimate(step.content) - estimate(content);
  if (saved > 0) plan.contents.push({ step: step.step, content });
  return freed + saved;
}

async function carryOut(deps: ActivityDeps, turn: PastTurn, { results, contents }: Plan): Promise<boolean> {
  if (results.length === 0 && contents.length === 0) return false;
  const put = pLimit(PARALLEL_PUTS);
  const shortened: ShortenedResult[] = await Promise.all(
    results.map(({ step, call, keepBytes }) =>
      put(() =>
        shortenResult(deps.storage, { turnId: turn.id, step, ...call }, call.content!, keepBytes, call.overflowKey),
      ),
    ),
  );
  await writeTurn(
    deps,
    turn.id,
    { from: 'running' },
    { parts: [shortenCalls(results, shortened), shortenSteps(contents)] },
  );
  return true;
}

function shortenCalls(results: Plan['results'], shortened: ShortenedResult[]): Sql {
  return sql`
    UPDATE tool_calls SET content = short.content, overflow_key = short.key
    FROM written, unnest(${results.map(({ step }) => step)}::integer[], ${results.map(({ call }) => call.index)}::integer[],
      ${shortened.map(({ content }) => JSON.stringify(content))}::json[],
      ${shortened.map(({ overflowKey }) => overflowKey)}::text[]) AS short(step, index, content, key)
    WHERE turn_id = written.id AND tool_calls.step = short.step AND tool_calls.index = short.index`;
}

function shortenSteps(contents: Plan['contents']): Sql {
  return sql`
    UPDATE model_steps SET content = short.content
    FROM written, unnest(${contents.map(({ step }) => step)}::integer[],
      ${contents.map(({ content }) => JSON.stringify(content))}::json[]) AS short(step, content)
    WHERE turn_id = written.id AND model_steps.step = short.step`;
}

/** Thinking stays: it is signed, and the API wants it back as it was. */
function shortenBlock(block: AssistantBlock): AssistantBlock {
  if (block.type === 'text') return { type: 'text', text: shortenText(block.text) };
  if (block.type !== 'tool_use') return block;
  return { ...block, input: shortenValue(block.input) as Record<string, unknown> };
}

function shortenValue(value: unknown): unknown {
  if (typeof value === 'string') return shortenText(value);
  if (Array.isArray(value)) return value.map(shortenValue);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, shortenValue(inner)]));
}

function shortenText(text: string): string {
  if (text.length <= LONG_TEXT) return text;
  return `${text.slice(0, KEPT_TEXT).toWellFormed()} [… of ${text.length} characters; left out to save room]`;
}
