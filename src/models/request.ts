import type Anthropic from '@anthropic-ai/sdk';

/** A request to a model, without its `stream` flag. */
export type ModelRequest = Anthropic.MessageCreateParamsNonStreaming;

/** A tool in a request. */
export interface ToolDefinition {
  /** The full name. The request may have to use an alias. */
  name: string;
  description: string;
  inputSchema: Record<string, unknown>;
}
