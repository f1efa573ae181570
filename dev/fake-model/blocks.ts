import { checkMedia } from './media.js';
import { isObject, onlyFields, refuse, TOOL_NAME } from './refusal.js';

export type Block = Record<string, unknown> & { type: string };

/** A block and where it stands in the request, for the text of a refusal. */
export interface PlacedBlock {
  block: Block;
  path: string;
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

/** The blocks of one message. Refuses those that the real API would refuse by themselves. */
export function readBlocks(content: unknown, role: 'user' | 'assistant', path: string): PlacedBlock[] {
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
      need('signature');
      if (block.signature === '') refuse(`${path}: Invalid \`signature\` in \`thinking\` block`);
      return;
    case 'redacted_thinking':
      need('data');
      if (block.data === '') refuse(`${path}.redacted_thinking.data: Invalid \`data\` in \`redacted_thinking\` block`);
      return;
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
