import { base64Length, mediaSourceOf, type MediaSource } from '../../src/models/media.js';
import type { ModelEntry } from '../../src/models/entry.js';
import type { ModelRequest } from '../../src/models/request.js';

/** By UTF-8 bytes: a character of a script with many takes about a token, and three bytes. */
const BYTES_PER_TOKEN = 3.5;
/** What the API's largest images cost. */
const MAX_IMAGE_TOKENS = 5000;
/** Below that share of the window the estimate alone is sure enough. */
const COUNT_SHARE = 0.5;

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

/** Counts a request's input tokens at the model's API; null where it does not count. */
export type CountTokens = (request: ModelRequest) => Promise<number | null>;

/** A request's input tokens: by the API where it counts and it matters, else by estimate. */
export async function requestTokens(
  { context_window }: ModelEntry,
  request: ModelRequest,
  estimated: number,
  countTokens: CountTokens,
): Promise<number> {
  if (estimated < context_window * COUNT_SHARE) return estimated;
  return (await countTokens(request)) ?? estimated;
}
