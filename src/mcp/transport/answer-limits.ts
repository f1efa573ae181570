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
/** All pages of a tool list: 256 tools with 512 KiB of schemas need less. */
export const listLimits = (): AnswerLimits => limits('its tool list', MAX_LIST_BYTES, MAX_LIST_VALUES);
export const shortLimits = (): AnswerLimits =>
  limits('its answer to initialize or ping', MAX_SHORT_BYTES, MAX_SHORT_VALUES);

function limits(what: string, bytes: number, values: number): AnswerLimits {
  const tooMany = `${what} has more than ${values.toLocaleString('en')} JSON values: it has to send fewer at a time`;
  return { bytes, values, tooMany };
}
