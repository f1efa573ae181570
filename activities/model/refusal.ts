import { asJsonObject, isJsonObject, type JsonObject } from '../../src/platform/json-object.js';

/** Maximum length of a reason that is searched and shown. */
const MAX_READ = 4000;
/** Entries of a list of faults that are read. */
const MAX_FAULTS = 3;

/** The ways in which model servers and gateways say that a request does not fit into the model's context. */
const TOO_LONG = [
  /context[ _-]?(window|length|limit|size)/i,
  /max(imum)?[ _](context|prompt|input|model|seq|sequence)[ _](length|len|tokens)\b/i,
  /(prompt|input|inputs|request|message|messages|conversation|tokens) (is |are )?too (long|large)/i,
  /too many (input |prompt )?tokens/i,
  /(input|prompt)( \(\d+)?,? (token count|tokens?|length)\b.*\b(exceed|longer than|larger than|greater than|only supports|more than)/i,
  /(prompt|input) exceeds/i,
  /exceed(s|ed)? (the )?(model )?token limit|token limit exceeded/i,
  /reduce the (length|size|number of tokens) (of|in) the (messages|prompt|input)/i,
  /too large for model/i,
  /range of input length/i,
  /tokens in request more than max tokens/i,
  /inputs`? (tokens \+|must have less than)/i,
  /expected maxlength/i,
  /(request|payload|body) size exceeds/i,
  /(payload|body|entity) (is )?too large/i,
  /超长|超出.{0,20}(长度|上下文)/,
];
/** A rate limit may speak of too many tokens, too. */
const RATE_LIMIT = /rate.?limit|too many requests|per (minute|hour|day)|quota|throttl|please wait/i;

/** The text in which an error says why: of one text field, or the first faults of a list. Empty if there is none. */
export function refusalReason(body: unknown): string {
  return reasonIn(body).trim().slice(0, MAX_READ);
}

function reasonIn(body: unknown, depth = 0): string {
  if (typeof body === 'string') return body;
  if (depth > 3) return '';
  if (Array.isArray(body)) {
    const reasons = body.slice(0, MAX_FAULTS).map((fault) => placed(fault, depth));
    return reasons.filter((reason) => reason !== '').join('; ');
  }
  if (!isJsonObject(body)) return '';
  const fields = [
    body.error,
    body.message,
    body.Message,
    body.detail,
    body.msg,
    body.errors,
    asJsonObject(body.base_resp).status_msg,
  ];
  return fields.map((field) => reasonIn(field, depth + 1)).find((reason) => reason !== '') ?? '';
}

/** A fault of a list that validates says where it is; the value that it may quote is left out. */
function placed(fault: unknown, depth: number): string {
  const reason = reasonIn(fault, depth + 1);
  const { loc } = asJsonObject(fault);
  if (!Array.isArray(loc) || reason === '') return reason;
  return `${loc.filter((part) => typeof part === 'string' || typeof part === 'number').join('.')}: ${reason}`;
}

/** The type that an error gives itself, or null. */
export function refusalType(body: unknown): string | null {
  const outer = asJsonObject(Array.isArray(body) ? body[0] : body);
  const inner = asJsonObject(outer.error);
  const words = [inner.type, inner.code, inner.status, outer.type, outer.code];
  return words.find((word): word is string => typeof word === 'string' && word !== 'error') ?? null;
}

/** The HTTP status in an error that came inside an answer, whose own status says nothing; null if it has none. */
export function statusInside(body: unknown): number | null {
  const outer = asJsonObject(body);
  const inner = asJsonObject(outer.error);
  const codes = [inner, outer].flatMap((error) => [error.code, error.status, error.status_code, error.statusCode]);
  return codes.map(Number).find((code) => Number.isInteger(code) && code >= 400 && code <= 599) ?? null;
}

/** True if an error says that the request is longer than the model's context. `status`: null if it has none. */
export function saysTooLong(body: unknown, status: number | null): boolean {
  if (status === 413) return true;
  if (status !== null && status !== 400 && status !== 422 && status !== 500) return false;
  const said = [refusalReason(body), ...wordsOf(body)].join(' ');
  return !saysLimit(said) && TOO_LONG.some((pattern) => pattern.test(said));
}

/** True if the words are about a rate or a quota. */
export function saysLimit(said: string): boolean {
  return RATE_LIMIT.test(said);
}

function wordsOf(body: unknown): string[] {
  const error: JsonObject = asJsonObject(asJsonObject(body).error);
  return [error.type, error.code].filter((word) => typeof word === 'string').map((word) => word.slice(0, 128));
}
