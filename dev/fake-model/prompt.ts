import { hash } from 'node:crypto';
import type { ModelRequest } from './wire.js';

/**
 * What a prompt costs: tokens by estimate, and a prompt cache that keeps the rules of the real one, so that a
 * client which moves its breakpoints wrongly sees it in `usage`.
 */

/** The input side of `usage`. As in the real API, `input_tokens` excludes what the cache read or wrote. */
export interface PromptUsage {
  input_tokens: number;
  cache_creation_input_tokens: number;
  cache_read_input_tokens: number;
}

/** A measured prompt: its tokens, and for each breakpoint the prefixes by which it can be found again. */
export interface Prompt {
  tokens: number;
  breakpoints: { key: string; tokens: number; earlier: { key: string; tokens: number }[] }[];
}

type CountedRequest = Omit<ModelRequest, 'max_tokens'>;

const CHARS_PER_TOKEN = 4;
/** The real API looks back this far from a breakpoint for a prefix that was written before. */
const LOOKBACK_BLOCKS = 20;
const MAX_ENTRIES = 20_000;
/** An image costs its area, a PDF its pages; their base64 length says neither. */
const IMAGE_CHARS = 1_600 * CHARS_PER_TOKEN;
const PDF_CHARS = 3_000 * CHARS_PER_TOKEN;

const tokensOf = (chars: number): number => Math.ceil(chars / CHARS_PER_TOKEN);

export const outputTokens = (chars: number): number => Math.max(1, tokensOf(chars));

interface Piece {
  text: string;
  chars: number;
  marked: boolean;
}

interface Markable {
  cache_control?: unknown;
}

const isMedia = (block: unknown): block is { type: 'image' | 'document'; source: { type: string; data: string } } =>
  typeof block === 'object' &&
  block !== null &&
  'source' in block &&
  (block as { source: { type?: string } }).source.type === 'base64';

function mediaChars(block: unknown): number {
  if (!isMedia(block)) return 0;
  return (block.type === 'image' ? IMAGE_CHARS : PDF_CHARS) - block.source.data.length;
}

function piece(prefix: string, block: object): Piece {
  // A breakpoint that moves on must not change the prefix it stood in.
  const { cache_control: mark, ...rest } = block as Markable & { content?: unknown };
  const text = prefix + JSON.stringify(rest);
  const nested = Array.isArray(rest.content) ? (rest.content as unknown[]) : [];
  const media = mediaChars(block) + nested.reduce<number>((sum, inner) => sum + mediaChars(inner), 0);
  return { text, chars: text.length + media, marked: mark != null };
}

const blocksOf = (content: string | readonly object[]): readonly object[] =>
  typeof content === 'string' ? [{ type: 'text', text: content }] : content;

/** The prompt in the order in which the cache reads it: tools, system, messages. */
function pieces(request: CountedRequest): Piece[] {
  const all: Piece[] = [];
  for (const tool of request.tools ?? []) all.push(piece('', tool));
  for (const block of blocksOf(request.system ?? [])) all.push(piece('system', block));
  // Changing these voids the cached messages, never the cached tools and system prompt.
  const settings = request.messages.length > 0 ? JSON.stringify([request.thinking, request.tool_choice]) : '';
  let first = true;
  for (const message of request.messages) {
    for (const block of blocksOf(message.content)) {
      const next = piece(message.role, block);
      if (first) next.text = settings + next.text;
      first = false;
      all.push(next);
    }
  }
  const last = all.at(-1);
  if (request.cache_control != null && last !== undefined) last.marked = true;
  return all;
}

/** Measures a prompt; hashes it only when it has breakpoints. */
export function measure(request: CountedRequest): Prompt {
  const all = pieces(request);
  const marks = all.some((one) => one.marked);
  const prefixes: { key: string; tokens: number }[] = [];
  const breakpoints: Prompt['breakpoints'] = [];
  let chars = 0;
  let key = request.model;
  for (const one of all) {
    chars += one.chars;
    if (!marks) continue;
    key = hash('sha1', `${key}\n${one.text}`, 'base64');
    if (one.marked) {
      breakpoints.push({ key, tokens: tokensOf(chars), earlier: prefixes.slice(-LOOKBACK_BLOCKS).reverse() });
    }
    prefixes.push({ key, tokens: tokensOf(chars) });
  }
  return { tokens: tokensOf(chars), breakpoints };
}

/** A prompt cache without expiry. */
export class PromptCache {
  readonly #written = new Set<string>();

  /** What the prompt costs now; writes its breakpoints. Call it for prompts that are answered, not for refused ones. */
  use({ tokens, breakpoints }: Prompt): PromptUsage {
    const read = breakpoints
      .flatMap((point) => [point, ...point.earlier])
      .filter((prefix) => this.#written.has(prefix.key))
      .reduce((most, prefix) => Math.max(most, prefix.tokens), 0);
    const cached = breakpoints.at(-1)?.tokens ?? 0;
    for (const point of breakpoints) this.#write(point.key);
    return {
      input_tokens: tokens - Math.max(read, cached),
      cache_creation_input_tokens: Math.max(0, cached - read),
      cache_read_input_tokens: read,
    };
  }

  #write(key: string): void {
    // Written again, so that the oldest entry is the one unused for longest.
    this.#written.delete(key);
    this.#written.add(key);
    if (this.#written.size <= MAX_ENTRIES) return;
    for (const oldest of this.#written) {
      this.#written.delete(oldest);
      return;
    }
  }
}
