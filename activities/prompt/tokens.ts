import { APIError } from '@anthropic-ai/sdk';
import { base64Length, mediaSourceOf, type MediaSource } from '../../src/models/media.js';
import type { ModelClient } from '../model/clients.js';
import type { ModelRequest } from './request.js';

/** By UTF-8 bytes: a character of a script with many takes about a token, and three bytes. */
const BYTES_PER_TOKEN = 3.5;
/** What the API's largest images cost. */
const MAX_IMAGE_TOKENS = 5000;
/** Below that share of the window the estimate alone is sure enough. */
const COUNT_SHARE = 0.5;
/** Counting is a help: a server that is slow at it must not hold up the turn. */
const COUNT_TIMEOUT_MS = 10_000;

/** A rough count of the tokens of a text or of anything as JSON, rather too high than too low. */
export function estimate(value: unknown): number {
  const text = typeof value === 'string' ? value : JSON.stringify(value);
  return Math.ceil(Buffer.byteLength(text) / BYTES_PER_TOKEN);
}

/** How many bytes of text take about that many tokens. */
export function bytesOf(tokens: number): number {
  return Math.max(0, Math.floor(tokens * BYTES_PER_TOKEN));
}

/** A rough count of a request's input tokens; images and documents count apart. */
export function estimateRequest({ system, messages, tools }: ModelRequest): number {
  let media = 0;
  const text = JSON.stringify([system, messages, tools], (key, value: unknown) => {
    const source = key === 'data' && typeof value === 'string' ? mediaSourceOf(value) : null;
    if (source === null) return value;
    media += mediaTokens(source);
    return '';
  });
  return Math.ceil(Buffer.byteLength(text) / BYTES_PER_TOKEN + media);
}

/** The API scales images down, whatever their size. A PDF costs some tokens per page, and its bytes hardly tell how many. */
function mediaTokens({ kind, bytes }: MediaSource): number {
  return kind === 'document' ? Math.min(1600 + base64Length(bytes) / 100, 100_000) : MAX_IMAGE_TOKENS;
}

/** A request's input tokens: by the API where it counts and it matters, else by estimate. */
export async function requestTokens(model: ModelClient, request: ModelRequest, signal: AbortSignal): Promise<number> {
  const estimated = estimateRequest(request);
  if (estimated < model.entry.context_window * COUNT_SHARE) return estimated;
  return (await countedTokens(model, request, signal)) ?? estimated;
}

async function countedTokens(model: ModelClient, request: ModelRequest, signal: AbortSignal): Promise<number | null> {
  if (!model.countsTokens) return null;
  const { max_tokens: _, ...counted } = request;
  try {
    const { input_tokens } = await model.api.messages.countTokens(counted, { signal, timeout: COUNT_TIMEOUT_MS });
    return typeof input_tokens === 'number' ? input_tokens : null;
  } catch (error) {
    signal.throwIfAborted();
    // A server without this operation is not asked again; any other fault shows in the call itself.
    if (error instanceof APIError && (error.status === 404 || error.status === 405 || error.status === 501)) {
      model.countsTokens = false;
    }
    return null;
  }
}
