import type { ImageType } from '../files/image-type.js';

/** What a model step and a tool call hold, as their rows have it. */

/** A block of a model's answer, in the Messages API's own form. */
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

/** A block of a tool's result. Bytes stay in file storage; they are read when a request to the model is built. */
export type ResultBlock =
  | { type: 'text'; text: string }
  | { type: 'image'; media_type: ImageType; storage_key: string }
  | { type: 'document'; media_type: 'application/pdf'; storage_key: string; title: string };

/** The text of a result's blocks. */
export function textOf(content: ResultBlock[]): string {
  return content.flatMap((block) => (block.type === 'text' ? [block.text] : [])).join('\n');
}

/** What a model call cost, as the API counts: `input_tokens` without what came from or went to the cache. */
export interface CallUsage {
  input_tokens: number;
  output_tokens: number;
  cache_read_input_tokens: number;
  cache_creation_input_tokens: number;
}

/** A model's answer while it streams, and once it is complete. */
export interface Answer {
  content: AssistantBlock[];
  stopReason: string | null;
  usage: CallUsage;
  /** When the first text or thinking came in, in ms after the call. */
  firstTokenMs: number | null;
}
