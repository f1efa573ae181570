import type Anthropic from '@anthropic-ai/sdk';
import type { PlacedMedia } from './media.js';

/** A request to a model, without its `stream` flag. */
export type ModelRequest = Anthropic.MessageCreateParamsNonStreaming;

export interface ToolDefinition {
  /** The full name. The request may have to use an alias. */
  name: string;
  description: string;
  inputSchema: Record<string, unknown>;
}

/** What a request was built of has changed before its call began: it is built again. */
export class RequestOutdatedError extends Error {}

/** A request that is taken once, to be sent: nothing keeps its megabytes while the model answers. */
export class PendingRequest {
  #request: ModelRequest | null;

  /**
   * @param inputTokens the tokens of its input, as they were counted before the call
   * @param media its images and documents
   * @param mediaRefusals how often the model's API has refused media in this turn
   */
  constructor(
    request: ModelRequest,
    readonly inputTokens: number,
    readonly media: readonly PlacedMedia[] = [],
    readonly mediaRefusals = 0,
  ) {
    this.#request = request;
  }

  take(): ModelRequest {
    const request = this.#request;
    if (request === null) throw new Error('the request was taken before');
    this.#request = null;
    return request;
  }
}
