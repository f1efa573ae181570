import type { ImageType } from './image-type.js';

/** A block of a model's response, in the form of the Messages API, as a model step's row has it. */
export type AssistantBlock =
  | { type: 'text'; text: string }
  | { type: 'thinking'; thinking: string; signature: string }
  | { type: 'redacted_thinking'; data: string }
  | ToolUseBlock;

export interface ToolUseBlock {
  type: 'tool_use';
  id: string;
  name: string;
  input: Record<string, unknown>;
}

/** A block of a tool's result. Media bytes stay in file storage and are read when a model request is sent. */
export type ResultBlock =
  | { type: 'text'; text: string }
  | { type: 'image'; media_type: ImageType; storage_key: string }
  | { type: 'document'; media_type: 'application/pdf'; storage_key: string; title: string };

export function textOf(content: ResultBlock[]): string {
  return content.flatMap((block) => (block.type === 'text' ? [block.text] : [])).join('\n');
}

export const TOKEN_KINDS = [
  'input_tokens',
  'output_tokens',
  'cache_read_input_tokens',
  'cache_creation_input_tokens',
] as const;
export type TokenKind = (typeof TOKEN_KINDS)[number];

/** The largest count of a call that a server may report (decisions.md "Money and models"): its sums cannot overflow. */
export const MAX_COUNT = 1_000_000_000;

/** A count of tokens that a server reports; null if it cannot be one. */
export function reportedCount(value: unknown): number | null {
  return typeof value === 'number' && Number.isInteger(value) && value >= 0 && value <= MAX_COUNT ? value : null;
}

/** Usage of a model call as the API counts it: `input_tokens` excludes tokens read from or written to the cache. */
export type CallUsage = Record<TokenKind, number> & {
  /** The server did not report all of it. */
  estimated?: true;
};

/** A model's response, streaming or complete. */
export interface ModelAnswer {
  content: AssistantBlock[];
  stopReason: string | null;
  usage: CallUsage;
  /** Milliseconds from the call to the first text or thinking. */
  firstTokenMs: number | null;
}
