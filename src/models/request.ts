import type Anthropic from '@anthropic-ai/sdk';

/** A request to a model, without its stream flag. */
export type ModelRequest = Anthropic.MessageCreateParamsNonStreaming;

/** A tool as a request names it. */
export interface ToolDefinition {
  /** Full name; the request may have to use an alias for it. */
  name: string;
  description: string;
  inputSchema: Record<string, unknown>;
}
