import { base64Length, splitAtMedia, type MediaSource } from '../../src/models/media.js';
import type { ModelEntry } from '../../src/models/entry.js';
import type { ModelRequest } from '../../src/models/request.js';
import { tokensOfBytes } from '../../src/models/tokens.js';
import { exactText } from '../../src/platform/exact-json.js';

/** Tokens of the largest images the API accepts. */
const MAX_IMAGE_TOKENS = 5000;
/** Below this share of the window the estimate is accurate enough, and the API is not asked. */
const COUNT_SHARE = 0.5;

/** Estimates the tokens of a text, or of any value as JSON. Tends to be too high. */
export function estimate(value: unknown): number {
  const text = typeof value === 'string' ? value : exactText(value);
  return tokensOfBytes(Buffer.byteLength(text));
}

/** Estimates a request's input tokens; images and documents are estimated separately. */
export function estimateRequest({ system, messages, tools }: ModelRequest): number {
  let bytes = 0;
  let media = 0;
  for (const part of splitAtMedia(exactText([system, messages, tools]))) {
    if (typeof part === 'string') bytes += Buffer.byteLength(part);
    else media += mediaTokens(part);
  }
  return tokensOfBytes(bytes) + Math.ceil(media);
}

/** The API scales large images down. A PDF's tokens depend on its pages, so its bytes give a rough estimate only. */
function mediaTokens({ kind, bytes }: MediaSource): number {
  return kind === 'document' ? Math.min(1600 + base64Length(bytes) / 100, 100_000) : MAX_IMAGE_TOKENS;
}

/** Asks the model's API for a request's input tokens; null if it cannot count. */
export type CountTokens = (request: ModelRequest) => Promise<number | null>;

export async function requestTokens(
  { context_window }: ModelEntry,
  request: ModelRequest,
  estimated: number,
  { countTokens, isTight }: { countTokens: CountTokens; isTight: (tokens: number) => boolean },
): Promise<number> {
  if (estimated < context_window * COUNT_SHARE && !isTight(estimated)) return estimated;
  return (await countTokens(request)) ?? estimated;
}
