import { readBlocks, type PlacedBlock } from './blocks.js';
import { isObject, onlyFields, refuse, type Issued, type Thinks } from './refusal.js';

/** Messages of one role that follow each other: the API reads them as one. `at` is the first one's index. */
interface Turn {
  role: 'user' | 'assistant';
  blocks: PlacedBlock[];
  at: number;
}

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
