import type Anthropic from '@anthropic-ai/sdk';
import { textOf } from './position.js';

/** The rules' answer to a request: a text, and calls of tools after it. */
interface Answer {
  thinking: string;
  text: string;
  calls?: { name: string; input: Record<string, unknown> }[];
  waitMs?: number;
  wordsPerSecond?: number;
}

/** An HTTP error instead of a message. */
interface Failure {
  error: 'overloaded_error' | 'rate_limit_error' | 'api_error' | 'invalid_request_error';
}

const WHO = 'I am the local rule-based model of this service, not an LLM';
const HELP = [
  'call TOOL with {"some": "json"} (several calls in one message run in parallel; "then call" makes the next step)',
  'write 200 words (also: at 5 words per second)',
  'what did I say before?',
  'which tools do you have?',
  'wait 10 seconds',
  'fail with overloaded, rate_limit, api or invalid_request',
];
const WORDS =
  'this is a long answer of the local model which has nothing to say and says it one word after the other'.split(' ');
const MAX_QUOTE_CHARS = 600;
/** No answer has more: 64,000 tokens end before. */
const MAX_WORDS = 100_000;

interface Turn {
  /** The text of the user's newest message. */
  text: string;
  /** Number of model answers since then. */
  step: number;
  request: Anthropic.MessageCreateParams;
}

/** The rules in order; the first one that returns an answer is used. */
const RULES: ((turn: Turn) => Answer | Failure | undefined)[] = [
  fail,
  callTools,
  reportTools,
  write,
  recall,
  listTools,
  wait,
];

/** Returns the answer to a request. It depends only on the request. */
export function answer(turn: Turn): Answer | Failure {
  const said = quote(turn.text);
  for (const rule of RULES) {
    const found = rule(turn);
    if (found !== undefined) return found;
  }
  return say(
    `No rule matches ${said}, so I list what I can do.`,
    `I follow a few rules. You said ${said}. With a model key in the environment a real model answers. ` +
      `Until then, try:\n- ${HELP.join('\n- ')}`,
  );
}

function fail({ text, step }: Turn): Failure | undefined {
  const asked = /\bfail with (overloaded|rate_limit|api|invalid_request)\b/i.exec(text);
  return asked && step === 0 ? { error: `${asked[1]!.toLowerCase()}_error` as Failure['error'] } : undefined;
}

/** `call TOOL with {…} and TOOL with {…}, then call TOOL`: one group of calls for each step. */
function callTools({ text, step, request }: Turn): Answer | undefined {
  const group = text.split(/\bthen\b(?=\s+call\b)/i)[step];
  if (group === undefined || !/\bcall\b/i.test(group)) return undefined;
  const offered = toolNames(request);
  const calls: NonNullable<Answer['calls']> = [];
  for (const found of group.matchAll(/\b(?:call|and)\s+`?([\w.-]*\w)`?(?:\s+with\s+`*(\{))?/gi)) {
    const [whole, wanted, json] = found;
    const name = offered.find((one) => one === wanted || one.endsWith(`__${wanted}`));
    // "call me Bob" is not a tool call; "call me with {}" is.
    if (name === undefined && json === undefined) continue;
    if (name === undefined)
      return say(`No tool is named ${wanted}.`, `I have no tool ${wanted}, only ${list(offered)}.`);
    const input = json === undefined ? {} : objectAt(group, found.index + whole.length - 1);
    if (input === null) return say('That input is not JSON.', `The input of ${wanted} is not a JSON object.`);
    calls.push({ name, input });
  }
  if (calls.length === 0) return undefined;
  const names = list(calls.map(({ name }) => name));
  return { thinking: `The message asks me to call ${names}.`, text: `I am calling ${names}.`, calls };
}

function reportTools({ step, request }: Turn): Answer | undefined {
  const last = request.messages.at(-1)?.content;
  if (step === 0 || !Array.isArray(last)) return undefined;
  const uses = request.messages.flatMap(({ content }) => (typeof content === 'string' ? [] : content));
  const reports = last.flatMap((block) => {
    if (block.type !== 'tool_result') return [];
    const use = uses.find((one) => one.type === 'tool_use' && one.id === block.tool_use_id);
    const name = use?.type === 'tool_use' ? use.name : 'a tool';
    return [`${name} ${block.is_error === true ? 'failed' : 'answered'}: ${quote(resultText(block))}`];
  });
  return reports.length === 0 ? undefined : say('The tools have answered.', reports.join('\n'));
}

function write({ text }: Turn): Answer | undefined {
  const asked = /\bwrite (\d{1,7}) words(?:.*?\bat (\d{1,5}) words per second)?/i.exec(text);
  if (!asked) return undefined;
  const words = Array.from({ length: Math.min(Number(asked[1]), MAX_WORDS) }, (_, at) => WORDS[at % WORDS.length]).join(
    ' ',
  );
  return {
    thinking: `The message asks for ${asked[1]} words.`,
    text: words || 'No words.',
    ...(asked[2] && { wordsPerSecond: Number(asked[2]) }),
  };
}

/** Also answers a request for a summary. */
function recall({ text, request }: Turn): Answer | undefined {
  if (!/\bsummar(y|i[sz]e)|\b(did|have) i (say|said|ask|asked|tell|told)\b/i.test(text)) return undefined;
  const said = request.messages
    .slice(0, -1)
    .filter((one) => one.role === 'user' && textOf(one) !== '')
    .map((one, at) => `${at + 1}. ${quote(textOf(one))}`);
  return say('I list the earlier messages.', said.length === 0 ? 'This is your first message.' : said.join('\n'));
}

function listTools({ text, request }: Turn): Answer | undefined {
  if (!/\b(which|what) tools\b/i.test(text)) return undefined;
  return say('I list my tools.', `I have ${list(toolNames(request))}.`);
}

function wait({ text }: Turn): Answer | undefined {
  const [, seconds] = /\bwait (\d{1,4}) seconds?/i.exec(text) ?? [];
  if (seconds === undefined) return undefined;
  return { ...say(`I wait ${seconds} seconds.`, `I have waited ${seconds} seconds.`), waitMs: Number(seconds) * 1000 };
}

function say(thinking: string, text: string): Answer {
  return { thinking, text: `${WHO}. ${text}` };
}

/** The object that begins at `start`; null if it is not JSON. Braces inside strings do not count. */
function objectAt(text: string, start: number): Record<string, unknown> | null {
  let depth = 0;
  let isInString = false;
  for (let at = start; at < text.length; at += 1) {
    const character = text[at];
    if (isInString && character === '\\') at += 1;
    else if (character === '"') isInString = !isInString;
    else if (!isInString && character === '{') depth += 1;
    else if (!isInString && character === '}') depth -= 1;
    if (depth === 0) return parse(text.slice(start, at + 1));
  }
  return null;
}

function parse(json: string): Record<string, unknown> | null {
  try {
    return JSON.parse(json) as Record<string, unknown>;
  } catch {
    return null;
  }
}

function resultText({ content }: Anthropic.ToolResultBlockParam): string {
  if (content === undefined || typeof content === 'string') return content ?? '';
  return content.map((part) => (part.type === 'text' ? part.text : `[${part.type}]`)).join('\n');
}

function toolNames(request: Anthropic.MessageCreateParams): string[] {
  return (request.tools ?? []).flatMap((tool) => ('name' in tool ? [tool.name] : []));
}

function list(names: string[]): string {
  return names.join(', ') || 'no tools';
}

function quote(text: string): string {
  return `"${text.length > MAX_QUOTE_CHARS ? `${text.slice(0, MAX_QUOTE_CHARS)}…` : text}"`;
}
