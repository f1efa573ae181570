import { checkMedia } from './media.js';
import { isObject, onlyFields, refuse, TOOL_NAME, type Issued, type Thinks } from './refusal.js';

type Block = Record<string, unknown> & { type: string };

/** Messages of one role that follow each other: the API reads them as one. `at` is the first one's index. */
interface Turn {
  role: 'user' | 'assistant';
  blocks: { block: Block; path: string }[];
  at: number;
}

const FIELDS: Record<string, ReadonlySet<string>> = {
  text: new Set(['type', 'text', 'cache_control', 'citations']),
  thinking: new Set(['type', 'thinking', 'signature']),
  redacted_thinking: new Set(['type', 'data']),
  tool_use: new Set(['type', 'id', 'name', 'input', 'cache_control', 'caller', 'toolset_name']),
  tool_result: new Set(['type', 'tool_use_id', 'content', 'is_error', 'cache_control', 'toolset_name']),
  image: new Set(['type', 'source', 'cache_control', 'transformations']),
  document: new Set(['type', 'source', 'cache_control', 'citations', 'context', 'title']),
};
const ALLOWED = {
  user: new Set(['text', 'image', 'document', 'tool_result']),
  assistant: new Set(['text', 'thinking', 'redacted_thinking', 'tool_use']),
};
const TOOL_USE_ID = /^[a-zA-Z0-9_-]+$/;

/** Refuses messages as the real API does: their roles, their blocks, and how calls and results are paired. */
export function checkConversation(messages: unknown, thinks: Thinks, issued: Issued): void {
  if (!Array.isArray(messages)) refuse('messages: Field required');
  if (messages.length === 0) refuse('messages: at least one message is required');
  const turns = readTurns(messages);
  if (turns[0]?.role !== 'user') refuse('messages: first message must use the "user" role');
  checkPairs(turns);
  checkSignatures(turns, issued);
  checkLastAnswer(turns);
  if (thinks !== 'no') checkThinkingKept(turns, thinks, issued);
}

function readTurns(messages: unknown[]): Turn[] {
  const turns: Turn[] = [];
  messages.forEach((message, at) => {
    const path = `messages.${at}`;
    if (!isObject(message)) refuse(`${path}: Input should be a valid dictionary`);
    onlyFields(message, new Set(['role', 'content']), path);
    const { role, content } = message;
    if (role !== 'user' && role !== 'assistant') refuse(`${path}.role: Input should be 'user' or 'assistant'`);
    if (content === undefined) refuse(`${path}.content: Field required`);
    const last = at === messages.length - 1 && role === 'assistant';
    if (!last && (content === '' || (Array.isArray(content) && content.length === 0))) {
      refuse(`${path}: all messages must have non-empty content except for the optional final assistant message`);
    }
    const blocks = readBlocks(content, role, path);
    const before = turns.at(-1);
    if (before?.role === role) before.blocks.push(...blocks);
    else turns.push({ role, blocks, at });
  });
  return turns;
}

function readBlocks(content: unknown, role: Turn['role'], path: string): Turn['blocks'] {
  const list: unknown[] =
    typeof content === 'string' ? (content === '' ? [] : [{ type: 'text', text: content }]) : (content as unknown[]);
  if (!Array.isArray(list)) refuse(`${path}.content: Input should be a valid list`);
  return list.map((block, at) => {
    const where = `${path}.content.${at}`;
    checkBlock(block, ALLOWED[role], where);
    return { block: block as Block, path: where };
  });
}

function checkBlock(block: unknown, allowed: ReadonlySet<string>, path: string): void {
  if (!isObject(block)) refuse(`${path}: Input should be a valid dictionary`);
  const type = String(block.type);
  if (!allowed.has(type)) {
    const tags = [...allowed].map((tag) => `'${tag}'`).join(', ');
    refuse(`${path}: Input tag '${type}' found using 'type' does not match any of the expected tags: ${tags}`);
  }
  const fields = FIELDS[type] as ReadonlySet<string>;
  onlyFields(block, fields, `${path}.${type}`);
  const need = (field: string): void => {
    if (typeof block[field] !== 'string') refuse(`${path}.${type}.${field}: Field required`);
  };
  switch (type) {
    case 'text':
      need('text');
      return checkText(block.text as string);
    case 'thinking':
      need('thinking');
      return need('signature');
    case 'redacted_thinking':
      return need('data');
    case 'tool_use':
      need('id');
      need('name');
      if (!TOOL_USE_ID.test(block.id as string))
        refuse(`${path}.tool_use.id: String should match pattern '${TOOL_USE_ID.source}'`);
      if (!TOOL_NAME.test(block.name as string))
        refuse(`${path}.tool_use.name: String should match pattern '${TOOL_NAME.source}'`);
      if (!isObject(block.input)) refuse(`${path}.tool_use.input: Input should be a valid dictionary`);
      return;
    case 'tool_result':
      need('tool_use_id');
      return checkResult(block, path);
    default:
      return checkMedia(block, path);
  }
}

function checkText(text: string): void {
  if (text === '') refuse('messages: text content blocks must be non-empty');
  if (text.trim() === '') refuse('messages: text content blocks must contain non-whitespace text');
}

const IN_RESULTS = new Set(['text', 'image', 'document']);

function checkResult({ content, is_error: failed }: Record<string, unknown>, path: string): void {
  if (
    failed === true &&
    (content === undefined || content === '' || (Array.isArray(content) && content.length === 0))
  ) {
    refuse(`${path}.tool_result: content cannot be empty if \`is_error\` is true`);
  }
  if (content === undefined || typeof content === 'string') return;
  if (!Array.isArray(content)) refuse(`${path}.tool_result.content: Input should be a valid list`);
  content.forEach((block, at) => checkBlock(block, IN_RESULTS, `${path}.tool_result.content.${at}`));
}

/** Every call has its result at the start of the next turn, and no result is without its call. */
function checkPairs(turns: Turn[]): void {
  const seen = new Set<unknown>();
  turns.forEach((turn, number) => {
    const calls = idsOf(turn, 'tool_use', 'id');
    for (const id of calls) {
      if (seen.has(id)) refuse('messages: `tool_use` ids must be unique');
      seen.add(id);
    }
    const next = turns[number + 1];
    const first = next?.blocks.findIndex(({ block }) => block.type !== 'tool_result') ?? -1;
    const answered = new Set(
      next?.blocks.slice(0, first === -1 ? undefined : first).map(({ block }) => block.tool_use_id),
    );
    const open = calls.filter((id) => !answered.has(id));
    if (open.length > 0) {
      refuse(
        `messages.${turn.at}: \`tool_use\` ids were found without \`tool_result\` blocks immediately after: ` +
          `${open.join(', ')}. Each \`tool_use\` block must have a corresponding \`tool_result\` block in the next message.`,
      );
    }
    checkResultsOf(turn, turns[number - 1]);
  });
}

function checkResultsOf(turn: Turn, before: Turn | undefined): void {
  const calls = new Set(before ? idsOf(before, 'tool_use', 'id') : []);
  const results = new Set<unknown>();
  for (const { block, path } of turn.blocks) {
    if (block.type !== 'tool_result') continue;
    const id = block.tool_use_id;
    if (!calls.has(id)) {
      refuse(
        `${path}: unexpected \`tool_use_id\` found in \`tool_result\` blocks: ${id}. Each \`tool_result\` block must ` +
          'have a corresponding `tool_use` block in the previous message.',
      );
    }
    if (results.has(id)) {
      refuse(`${path}: each tool_use must have a single result. Found multiple \`tool_result\` blocks with id: ${id}`);
    }
    results.add(id);
  }
}

const idsOf = (turn: Turn, type: string, field: string): unknown[] =>
  turn.blocks.flatMap(({ block }) => (block.type === type ? [block[field]] : []));

function checkSignatures(turns: Turn[], issued: Issued): void {
  for (const { block, path } of turns.flatMap((turn) => turn.blocks)) {
    if (block.type === 'thinking' && !issued.signed(block.thinking as string, block.signature as string)) {
      refuse(`${path}: Invalid \`signature\` in \`thinking\` block`);
    }
  }
}

/** What an answer that the model is to continue must not end with. */
function checkLastAnswer(turns: Turn[]): void {
  const last = turns.at(-1) as Turn;
  const end = last.blocks.at(-1);
  if (last.role !== 'assistant' || end === undefined) return;
  if (end.block.type === 'text' && /\s$/.test(end.block.text as string)) {
    refuse('messages: final assistant content cannot end with trailing whitespace');
  }
  if (end.block.type === 'thinking' || end.block.type === 'redacted_thinking') {
    refuse(`messages.${last.at}: The final block in an assistant message cannot be \`thinking\`.`);
  }
}

/**
 * While a loop of calls goes on, its thinking stays: the first answer since the user spoke begins with it. With
 * adaptive thinking the real API does not insist; here it is asked for where the model did think, because a client
 * that loses it makes the model worse without ever seeing an error.
 */
function checkThinkingKept(turns: Turn[], thinks: Exclude<Thinks, 'no'>, issued: Issued): void {
  const last = turns.at(-1) as Turn;
  const continues = last.role === 'assistant' || hasResults(last);
  if (!continues) return;
  const start = turns.findLastIndex((turn) => turn.role === 'user' && !hasResults(turn));
  const first = turns[start + 1]?.blocks[0];
  if (first === undefined || first.block.type === 'thinking' || first.block.type === 'redacted_thinking') return;
  const calls = idsOf(turns[start + 1] as Turn, 'tool_use', 'id');
  if (thinks === 'adaptive' && !calls.some((id) => issued.calledAfterThinking(String(id)))) return;
  refuse(
    `${first.path}.type: Expected \`thinking\` or \`redacted_thinking\`, but found \`${first.block.type}\`. When ` +
      '`thinking` is enabled, a final `assistant` message must start with a thinking block (preceeding the lastmost ' +
      'set of `tool_use` and `tool_result` blocks).',
  );
}

const hasResults = (turn: Turn): boolean => turn.blocks.some(({ block }) => block.type === 'tool_result');
