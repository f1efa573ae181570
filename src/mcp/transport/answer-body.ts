import { AnswerRefusedError } from './errors.js';
import { unlessLate } from '../../platform/limited-wait.js';
import { ignored } from '../../platform/ignored.js';
import { MIB } from '../../platform/units.js';

/** What is left for the answers of a request. Reading them lowers it, and a request of several pages shares it. */
export interface AnswerLimits {
  /** Bytes of bodies, after decompression. */
  bytes: number;
  values: number;
  /** The reason when an answer has more values. */
  readonly tooMany: string;
}

export const MAX_ANSWER_BYTES = 32 * MIB;
export const MAX_ANSWER_VALUES = 250_000;
const MAX_LIST_BYTES = 8 * MIB;
export const MAX_LIST_VALUES = 64_000;
const MAX_SHORT_BYTES = MIB;
/** The SDK checks the answer to `initialize` with zod, which needs up to 0.05 ms for a wrong value. */
export const MAX_SHORT_VALUES = 2000;
/** A message that the server sends unasked: a ping, a notification, a question. */
export const MAX_UNASKED_BYTES = 64 * 1024;
export const MAX_UNASKED_VALUES = 1000;

/** The answer to a tool call: large enough for a few images in base64. */
export const callLimits = (): AnswerLimits => limits('its answer', MAX_ANSWER_BYTES, MAX_ANSWER_VALUES);
/** All pages of a tool list: 2,000 tools with 2 MiB of schemas need less. */
export const listLimits = (): AnswerLimits => limits('its tool list', MAX_LIST_BYTES, MAX_LIST_VALUES);
export const shortLimits = (): AnswerLimits =>
  limits('its answer to initialize or ping', MAX_SHORT_BYTES, MAX_SHORT_VALUES);

function limits(what: string, bytes: number, values: number): AnswerLimits {
  const tooMany = `${what} has more than ${values.toLocaleString('en')} JSON values: it has to send fewer at a time`;
  return { bytes, values, tooMany };
}

/** A larger message counts against the process' memory for bytes in flight. */
export const LARGE_BYTES = MIB;
export const LARGE_VALUES = 10_000;
/** Minimum rate of a large message, so that a slow server does not hold its share of the memory for long. */
const MIN_BYTES_PER_SECOND = 64 * 1024;
const RATE_WINDOW_MS = 10_000;

/** Runs once per body before more of a large message is read. `bytes`: how long the body can become. */
export type OnLarge = (bytes: number) => Promise<void>;

/** Reads the body of an answer piece by piece. A large message waits for its share of the memory, and must not trickle. */
export class AnswerBody {
  readonly #reader: ReadableStreamDefaultReader<Uint8Array>;
  #hasShare = false;
  #isMeasured = false;
  #waitedMs = 0;
  #arrived = 0;

  constructor(
    body: ReadableStream<Uint8Array>,
    private readonly onLarge: OnLarge | undefined,
    private readonly maxBytes: number,
  ) {
    this.#reader = body.getReader();
  }

  /** The next piece; undefined at the end. @throws AnswerRefusedError if a large message arrives too slowly */
  async read(): Promise<Uint8Array | undefined> {
    const reading = this.#reader.read();
    if (!this.#isMeasured) return (await reading).value;
    for (;;) {
      const began = performance.now();
      const result = await unlessLate(reading, Math.max(0, RATE_WINDOW_MS - this.#waitedMs), () => null);
      this.#waitedMs += performance.now() - began;
      this.#arrived += result?.value?.length ?? 0;
      if (this.#waitedMs >= RATE_WINDOW_MS) {
        if ((this.#arrived / this.#waitedMs) * 1000 < MIN_BYTES_PER_SECOND) {
          reading.catch(ignored('the answer is refused already'));
          throw new AnswerRefusedError('its answer arrives at less than 64 KiB a second');
        }
        this.#waitedMs = 0;
        this.#arrived = 0;
      }
      if (result !== null) return result.value;
    }
  }

  /** Call it with the size of the message so far, before reading on or parsing. Waits for the share of the memory. */
  async weigh({ bytes, values }: { bytes: number; values: number }): Promise<void> {
    this.#isMeasured = bytes > LARGE_BYTES;
    if (this.#hasShare || (bytes <= LARGE_BYTES && values <= LARGE_VALUES)) return;
    this.#hasShare = true;
    await this.onLarge?.(this.maxBytes);
  }

  async cancel(reason: unknown): Promise<void> {
    await this.#reader.cancel(reason).catch(ignored('the connection may be gone'));
  }
}
