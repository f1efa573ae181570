import type Anthropic from '@anthropic-ai/sdk';
import { parseCalls } from './calls.js';
import { position, textOf } from './conversation.js';
import { ModelFailure, newId, type ModelErrorType, type ModelRequest } from './wire.js';

/** A block of the local model's answer. */
export type AnswerBlock =
  { type: 'text'; text: string } | { type: 'tool_use'; id: string; name: string; input: Record<string, unknown> };

/** What the rules say to a request. */
export type Answer =
  | { kind: 'message'; thinking: string; blocks: AnswerBlock[]; waitMs?: number; wordsPerSecond?: number }
  /** Answers with an HTTP error; `times` of them to the same prompt, then in words. */
  | { kind: 'failure'; failure: ModelFailure; times: number }
  /** Begins to answer; then an error frame, the end of the connection or silence. */
  | { kind: 'broken'; text: string; ending: 'error' | 'cut' | 'silence' }
  /** Does not even send a status. */
  | { kind: 'hang' };

const WHO = 'I am the local rule-based model of this service, not an LLM';
const HELP = [
  'call TOOL with {"some": "json"} (several calls in one message run in parallel; "then call" makes the next step)',
  'write 200 words (also: at 5 words per second)',
  'what did I say before?',
  'which tools do you have?',
  'what are your instructions?',
  'wait 10 seconds',
  'fail with overloaded, rate_limit, error or invalid (also: once, or 3 times)',
  'break off, fail midway, be silent, hang',
];

const FAILURES: Record<string, { type: ModelErrorType; headers?: Record<string, string> }> = {
  overloaded: { type: 'overloaded_error' },
  rate_limit: { type: 'rate_limit_error', headers: { 'retry-after': '1' } },
  error: { type: 'api_error' },
  invalid: { type: 'invalid_request_error' },
};

interface Turn {
  text: string;
  step: number;
  request: ModelRequest;
}

const say = (text: string): AnswerBlock[] => [{ type: 'text', text }];
const message = (thinking: string, text: string): Answer => ({ kind: 'message', thinking, blocks: say(text) });
const quote = (text: string, most = 300): string => `"${text.length > most ? `${text.slice(0, most)}…` : text}"`;

/** One rule per row, tried in order: the first that answers wins. */
const RULES: ((turn: Turn) => Answer | undefined)[] = [
  fail,
  misbehave,
  callTools,
  reportTools,
  write,
  summarise,
  recall,
  listTools,
  instructions,
  wait,
];

/** The answer to a request. Depends on the request alone. */
export function answer(request: ModelRequest): Answer {
  const { userText, step } = position(request.messages);
  const turn = { text: userText, step, request };
  for (const rule of RULES) {
    const found = rule(turn);
    if (found !== undefined) return found;
  }
  return fallback(turn);
}

function fail({ text, step }: Turn): Answer | undefined {
  const asked = /\bfail with (overloaded|rate_limit|error|invalid)(?:.*?\b(?:(once)|(twice)|(\d+) times))?/i.exec(text);
  if (!asked || step > 0) return undefined;
  const [, name = '', once, twice, times] = asked;
  const { type, headers } = FAILURES[name.toLowerCase()] as (typeof FAILURES)[string];
  const failure = new ModelFailure(type, `You asked the local model to fail with ${name}.`, headers);
  return { kind: 'failure', failure, times: once ? 1 : twice ? 2 : times ? Number(times) : Infinity };
}

function misbehave({ text, step }: Turn): Answer | undefined {
  if (step > 0) return undefined;
  if (/^(please )?hang\W*$/im.test(text)) return { kind: 'hang' };
  const broken = (ending: 'error' | 'cut' | 'silence'): Answer => ({
    kind: 'broken',
    text: `${WHO}: you asked for an answer that does not end well, and this is`,
    ending,
  });
  if (/\bfail midway\b/i.test(text)) return broken('error');
  if (/\bbreak off\b/i.test(text)) return broken('cut');
  if (/\bbe silent\b/i.test(text)) return broken('silence');
  return undefined;
}

function callTools({ text, step, request }: Turn): Answer | undefined {
  const group = text.split(/\bthen\b(?=\s+call\b)/i)[step];
  if (group === undefined) return undefined;
  const calls = parseCalls(group);
  const offered = toolNames(request);
  const named = calls.flatMap((call) => {
    const name = offered.find((one) => one === call.name) ?? offered.find((one) => one.endsWith(`__${call.name}`));
    return name === undefined ? [] : [{ ...call, name }];
  });
  // "call me Bob" asks for no tool; "call me with {}" does.
  const unknown = calls.filter((call) => call.explicit && !named.some((one) => one.at === call.at));
  if (named.length + unknown.length === 0) return undefined;
  if (unknown.length > 0) {
    const names = unknown.map((call) => call.name).join(', ');
    return message(`No tool is named ${names}.`, `${WHO}: I was not offered ${names}. I have ${list(offered)}.`);
  }
  const wrong = named.find((call) => call.input === undefined);
  if (wrong)
    return message('That input is no JSON.', `${WHO}: what follows "call ${wrong.name} with" is not a JSON object.`);
  const uses = named.map(({ name, input }) => ({
    type: 'tool_use' as const,
    id: newId('toolu'),
    name,
    input: input ?? {},
  }));
  const names = list(uses.map((use) => use.name));
  return {
    kind: 'message',
    thinking: `The message asks me to call ${names}. I was offered that, so I call it.`,
    blocks: [...say(`I am calling ${names}.`), ...uses],
  };
}

function reportTools({ step, request }: Turn): Answer | undefined {
  const last = request.messages.at(-1);
  if (step === 0 || last === undefined || !Array.isArray(last.content)) return undefined;
  const names = new Map<string, string>();
  for (const { content } of request.messages) {
    if (typeof content === 'string') continue;
    for (const block of content) if (block.type === 'tool_use') names.set(block.id, block.name);
  }
  const reports = last.content.flatMap((block) => {
    if (block.type !== 'tool_result') return [];
    const verb = block.is_error === true ? 'failed' : 'answered';
    return [`${names.get(block.tool_use_id) ?? 'a tool'} ${verb}: ${quote(resultText(block), 600)}`];
  });
  if (reports.length === 0) return undefined;
  return message('The tools have answered; I report what they said.', `${WHO}. ${reports.join('\n')}`);
}

function resultText({ content }: Anthropic.ToolResultBlockParam): string {
  if (content === undefined || typeof content === 'string') return content ?? '';
  return content.map((part) => (part.type === 'text' ? part.text : `[${part.type}]`)).join('\n');
}

const WORDS =
  'this is a long answer of the local model which has nothing to say and says it one word after the other'.split(' ');

function write({ text }: Turn): Answer | undefined {
  const asked = /\bwrite (\d{1,7}) words(?:.*?\bat (\d{1,5}) words per second)?/i.exec(text);
  if (!asked) return undefined;
  const words = Array.from({ length: Number(asked[1]) }, (_, at) => WORDS[at % WORDS.length]);
  const long = message(`I am to write ${words.length} words.`, words.join(' ') || 'No words.');
  return asked[2] ? ({ ...long, wordsPerSecond: Number(asked[2]) } as Answer) : long;
}

function summarise({ text, request }: Turn): Answer | undefined {
  if (!/\bsummar(y|i[sz]e)/i.test(text)) return undefined;
  const lines = request.messages.slice(0, -1).flatMap((one) => {
    const said = textOf(one);
    return said === '' ? [] : [`${one.role}: ${quote(said, 120)}`];
  });
  return message(
    'I list what was said.',
    `${WHO}, so this summary is a list.\n${lines.join('\n') || 'Nothing was said.'}`,
  );
}

function recall({ text, request }: Turn): Answer | undefined {
  if (!/\b(what (did|have) i (say|said|ask|asked|tell|told|write|written)|do you remember)\b/i.test(text))
    return undefined;
  const said = request.messages
    .slice(0, -1)
    .filter((one) => one.role === 'user' && textOf(one) !== '')
    .map((one, at) => `${at + 1}. ${quote(textOf(one))}`);
  if (said.length === 0) return message('There is no earlier message.', `${WHO}: this is your first message here.`);
  return message(
    `I was given ${said.length} earlier messages.`,
    `${WHO}, but I was given the history. You said:\n${said.join('\n')}`,
  );
}

function listTools({ text, request }: Turn): Answer | undefined {
  if (!/\b(which|what) tools\b/i.test(text)) return undefined;
  const tools = toolNames(request);
  return message(`I was offered ${tools.length} tools.`, `${WHO}. I was offered ${list(tools)}.`);
}

function instructions({ text, request }: Turn): Answer | undefined {
  if (!/\byour (instructions?|system prompt)\b/i.test(text)) return undefined;
  const { system = '' } = request;
  const given = typeof system === 'string' ? system : system.map((block) => block.text).join('\n');
  return message('I quote my system prompt.', `${WHO}. My system prompt has ${given.length} characters:\n${given}`);
}

function wait({ text }: Turn): Answer | undefined {
  const asked = /\bwait (\d{1,4}) seconds?/i.exec(text);
  if (!asked) return undefined;
  const done = message(`I wait ${asked[1]} seconds.`, `${WHO}: I have waited ${asked[1]} seconds.`);
  return { ...done, waitMs: Number(asked[1]) * 1000 } as Answer;
}

function fallback({ text, request }: Turn): Answer {
  const last = request.messages.at(-1)?.content ?? '';
  const attached =
    typeof last === 'string' ? 0 : last.filter((block) => block.type === 'image' || block.type === 'document').length;
  const files = attached > 0 ? ` and attached ${attached} file${attached > 1 ? 's' : ''}` : '';
  return message(
    `The user says ${quote(text, 100)}. No rule of mine is about that, so I say what I can do.`,
    `${WHO}: I follow a few rules and understand nothing. You said ${quote(text)}${files}. ` +
      `With a model key in the environment a real model answers. Until then, try:\n- ${HELP.join('\n- ')}`,
  );
}

function toolNames(request: ModelRequest): string[] {
  return (request.tools ?? []).flatMap((tool) => ('name' in tool ? [tool.name] : []));
}

function list(names: string[]): string {
  return names.length === 0 ? 'no tools' : names.join(', ');
}
