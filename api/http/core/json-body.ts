import type { Context } from 'koa';
import { ServiceError, validationError } from '../../../src/platform/errors.js';
import { isStorableText } from '../../../src/platform/text.js';
import { readBody } from './read-body.js';

const MAX_BYTES = 2 * 1024 * 1024;
/** No operation has a deeper or wider body. This is checked before code recurses into it or compares its items. */
const MAX_DEPTH = 64;
const MAX_WIDTH = 1000;

/**
 * Reads the request's JSON (contract.md §1).
 * @throws ServiceError `unsupported_media_type`, `content_too_large`, `bad_request`, or `validation_error` for text
 * that cannot be stored and for JSON that is too deep or too wide
 */
export async function readJson(ctx: Context): Promise<unknown> {
  requireJsonType(ctx);
  const bytes = await readBody(ctx.req, MAX_BYTES);
  const value = parse(bytes);
  inspect(value);
  return value;
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

function parse(bytes: Buffer): unknown {
  try {
    return JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes));
  } catch {
    throw new ServiceError(
      'bad_request',
      bytes.length === 0 ? 'The body is empty; it must be JSON.' : 'The body is not JSON.',
    );
  }
}

/** Checks every value without recursion: two million brackets may nest. */
function inspect(root: unknown): void {
  const open: { value: unknown; path: string; depth: number }[] = [{ value: root, path: '', depth: 0 }];
  for (let item = open.pop(); item !== undefined; item = open.pop()) {
    const { value, path, depth } = item;
    if (typeof value === 'string' && !isStorableText(value)) throw unstorable(path);
    if (typeof value !== 'object' || value === null) continue;
    if (depth >= MAX_DEPTH) throw validationError(path, `is nested deeper than ${MAX_DEPTH} levels`);
    const width = Array.isArray(value) ? value.length : Object.keys(value).length;
    if (width > MAX_WIDTH) throw validationError(path, `has more than ${MAX_WIDTH} entries`);
    for (const [key, child] of Object.entries(value)) {
      if (!isStorableText(key)) throw unstorable(path);
      open.push({ value: child, path: `${path}/${pointerToken(key)}`, depth: depth + 1 });
    }
  }
}

function unstorable(path: string): ServiceError {
  return validationError(path, 'has text with a NUL character or an unpaired surrogate');
}

/** Escapes a key for a JSON Pointer (RFC 6901). */
export function pointerToken(key: string): string {
  return key.replaceAll('~', '~0').replaceAll('/', '~1');
}
