/** Counts UTF-8 bytes, not characters: a Chinese character, say, is about one token and three bytes. */
const BYTES_PER_TOKEN = 3.5;

/** Estimates the tokens of so many bytes of text. Tends to be too high. */
export function tokensOfBytes(bytes: number): number {
  return Math.ceil(bytes / BYTES_PER_TOKEN);
}

export function bytesOfTokens(tokens: number): number {
  return Math.max(0, Math.floor(tokens * BYTES_PER_TOKEN));
}
