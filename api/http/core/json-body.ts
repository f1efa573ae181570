import type { Context } from 'koa';
import { pointerToken, ServiceError, validationError } from '../../../src/platform/errors.js';
import { parseExact } from '../../../src/platform/exact-json.js';
import { JsonScan } from '../../../src/platform/json-scan.js';
import { isStorableText } from '../../../src/platform/text.js';
import { readBody } from './read-body.js';
import { MIB } from '../../../src/platform/units.js';

export const MAX_BODY_BYTES = 2 * MIB;
/** No operation has a deeper or wider body. This is checked before code recurses into it or compares its items. */
const MAX_DEPTH = 64;
const MAX_WIDTH = 2000;

/**
 * Reads the request's JSON (docs/decisions.md "HTTP", "Limits of work").
 * @throws ServiceError `unsupported_media_type`, `content_too_large`, `bad_request`, or `validation_error` for text
 * that cannot be stored and for JSON that is too deep or too wide or has more than `maxValues` values
 * @param exactNumbers also sets `ctx.state.exactBody`, whose numbers keep their digits (src/platform/exact-json)
 */
export async function readJson(ctx: Context, maxValues: number, exactNumbers = false): Promise<unknown> {
  requireJsonType(ctx);
  const bytes = await readBody(ctx.req, { maxBytes: MAX_BODY_BYTES, inspect: limitValues(maxValues) });
  const text = decode(bytes);
  const value = parse(text);
  const problem = findProblem(value, 0);
  if (problem !== null) throw validationError(problem.path, problem.message);
  if (exactNumbers) ctx.state.exactBody = parseExact(text, value);
  return value;
}

/** Counts values before they are parsed: a parsed value takes up to 100 bytes of memory, and `{},` takes three. */
function limitValues(maxValues: number): (chunk: Buffer) => void {
  const scan = new JsonScan();
  return (chunk) => {
    scan.feed(chunk);
    if (scan.values <= maxValues) return;
    throw validationError('', `has more than ${maxValues} JSON values: send fewer`);
  };
}

function requireJsonType(ctx: Context): void {
  const [type = '', ...parameters] = ctx.get('Content-Type').toLowerCase().split(';');
  const known =
    type.trim() === 'application/json' || (ctx.method === 'PATCH' && type.trim() === 'application/merge-patch+json');
  const utf8 = parameters.every((parameter) => {
    const [name = '', value = ''] = parameter.split('=');
    return name.trim() !== 'charset' || /^"?utf-?8"?$/.test(value.trim());
  });
  const encoding = ctx.get('Content-Encoding').toLowerCase();
  if (!known || !utf8 || (encoding !== '' && encoding !== 'identity')) {
    throw new ServiceError(
      'unsupported_media_type',
      'The body must be sent as application/json, in UTF-8, uncompressed.',
    );
  }
}

function decode(bytes: Buffer): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    throw notJson();
  }
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw notJson(text === '');
  }
}

function notJson(isEmpty = false): ServiceError {
  return new ServiceError('bad_request', isEmpty ? 'The body is empty; it must be JSON.' : 'The body is not JSON.');
}

interface Problem {
  path: string;
  message: string;
}

/** The first value that cannot be accepted. Only for it is a path built. */
function findProblem(value: unknown, depth: number): Problem | null {
  if (typeof value === 'string') return isStorableText(value) ? null : unstorable();
  if (typeof value !== 'object' || value === null) return null;
  if (depth >= MAX_DEPTH) return { path: '', message: `is nested deeper than ${MAX_DEPTH} levels` };
  const keys = Object.keys(value);
  if (keys.length > MAX_WIDTH) return { path: '', message: `has more than ${MAX_WIDTH} entries` };
  for (const key of keys) {
    if (!isStorableText(key)) return unstorable();
    const problem = findProblem((value as Record<string, unknown>)[key], depth + 1);
    if (problem !== null) return { ...problem, path: `/${pointerToken(key)}${problem.path}` };
  }
  return null;
}

function unstorable(): Problem {
  return { path: '', message: 'has text with a NUL character or an unpaired surrogate' };
}
