import type { ToolDefinition } from '../../src/models/request.js';
import { bytesOfTokens } from '../../src/models/tokens.js';

export interface DefinitionLimits {
  /** `TOOL_DEFINITION_TOKENS`. */
  toolDefinitionTokens: number;
  contextWindow: number;
}

/** The definitions of a turn take at most this share of the model's window, or are deferred. */
const WINDOW_SHARE = 0.1;

/** Schemas are the same objects in every request of a process. */
const knownBytes = new WeakMap<object, number>();

/** Bytes of a tool's definition in a request. */
export function definitionBytes({ name, description, inputSchema }: ToolDefinition): number {
  const known = knownBytes.get(inputSchema);
  if (known !== undefined) return known;
  const bytes = Buffer.byteLength(JSON.stringify({ name, description, input_schema: inputSchema }));
  knownBytes.set(inputSchema, bytes);
  return bytes;
}

/** Limit of the definitions that a turn may defer: of all before it defers them, and of those that were found, at its start. */
export function maxDefinitionBytes({ toolDefinitionTokens, contextWindow }: DefinitionLimits): number {
  return toolDefinitionTokens === 0
    ? Number.POSITIVE_INFINITY
    : bytesOfTokens(Math.min(toolDefinitionTokens, contextWindow * WINDOW_SHARE));
}
