import pLimit from 'p-limit';
import type { Storage } from '../../src/files/storage.js';
import { textOf, type AssistantBlock, type ResultBlock } from '../../src/models/content.js';
import { SEARCH_TOOLS } from '../../src/sessions/tools.js';
import { shortenHits } from '../../src/steps/found-tools.js';
import type { PastCall, PastStep, PastTurn } from '../../src/steps/past-turn.js';
import { shortenResult, storeShortenedSteps } from '../../src/steps/shorten-result.js';
import type { TurnDeps } from '../../src/turns/change-turn.js';
import { bytesOfTokens } from '../../src/models/tokens.js';
import { estimate } from './tokens.js';

/** Results up to this size are kept: the line that replaces them is about as long. */
const SMALL_RESULT_BYTES = 400;
/** The model's own texts and tool inputs are cut to this length. */
const LONG_TEXT = 1000;
const KEPT_TEXT = 200;
const PARALLEL_PUTS = 16;

/** Dependencies for building a request. */
export interface PromptDeps extends TurnDeps {
  storage: Storage;
}

/** The results and steps to shorten. `keepBytes` is how much of a result stays. */
interface Plan {
  results: { step: number; call: PastCall; keepBytes: number }[];
  contents: { step: number; content: AssistantBlock[] }[];
}

/**
 * Makes room within the running turn, so that a turn of a hundred steps fits the window. Replaces results of older steps
 * by a line that says how to read them again, and cuts the model's own long texts, oldest first, until about `excess`
 * tokens are saved. Shortened steps stay shortened, so that the prompt cache is invalidated once and not at every step.
 * Events keep the full content. Returns false if nothing was left to shorten.
 */
export async function shortenOlderSteps(deps: PromptDeps, turn: PastTurn, excess: number): Promise<boolean> {
  const plan: Plan = { results: [], contents: [] };
  let freed = 0;
  for (const step of turn.steps.slice(0, -1)) {
    if (freed >= excess) break;
    freed += planStep(plan, step, 0);
  }
  return carryOut(deps, turn, plan);
}

/** Cuts the results of the newest step to equal shares of `room` tokens. Returns false if none is longer. */
export async function shortenNewestStep(deps: PromptDeps, turn: PastTurn, room: number): Promise<boolean> {
  const newest = turn.steps.at(-1);
  if (newest === undefined) return false;
  const plan: Plan = { results: [], contents: [] };
  planStep(plan, newest, Math.floor(bytesOfTokens(room) / Math.max(1, newest.calls.length)));
  return carryOut(deps, turn, plan);
}

/** Plans one step. Returns about how many tokens this frees. */
function planStep(plan: Plan, step: PastStep, keepBytes: number): number {
  let freed = 0;
  for (const call of step.calls) {
    if (call.content === null) continue;
    // Its names stay, so it can be shortened only once.
    if (call.name === SEARCH_TOOLS && call.overflowKey !== null) continue;
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

async function carryOut(deps: PromptDeps, turn: PastTurn, { results, contents }: Plan): Promise<boolean> {
  if (results.length === 0 && contents.length === 0) return false;
  const put = pLimit(PARALLEL_PUTS);
  const shortened = results.map(({ step, call, keepBytes }) =>
    put(async () => {
      const key = { turnId: turn.id, step, ...call };
      // What a search has found stays found.
      const isSearch = call.name === SEARCH_TOOLS && !call.isError;
      const kept = isSearch ? 0 : keepBytes;
      const short = await shortenResult(deps.storage, key, call.content!, kept, call.overflowKey);
      const content = isSearch ? shortenedSearch(call.content!, short.content) : short.content;
      return { ...short, content, step, index: call.index };
    }),
  );
  await storeShortenedSteps(deps, turn.id, { results: await Promise.all(shortened), contents });
  return true;
}

function shortenedSearch(content: ResultBlock[], note: ResultBlock[]): ResultBlock[] {
  return [{ type: 'text', text: shortenHits(textOf(content), textOf(note)) }];
}

/** Thinking is not shortened: it is signed, and the API accepts it only unchanged. */
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
