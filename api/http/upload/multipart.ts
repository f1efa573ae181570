import { multipart } from 'formidable';
import type Koa from 'koa';
import { koaBody } from 'koa-body';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { finished } from 'node:stream/promises';
import { ServiceError } from '../../../src/platform/errors.js';
import { storageError } from '../../../src/files/storage.js';
import { missingFile, PartCollector, type Part, type Upload, type UploadRules } from './part-collector.js';

export type { Upload, UploadRules };

/** formidable's error codes for an interrupted or malformed multipart body. */
const BROKEN_BODY = new Set<unknown>([1002, 1012, 1013, 1014, 'ERR_STREAM_PREMATURE_CLOSE', 'ECONNRESET']);

/**
 * Receives the single file of a multipart body, in its field `file`, into a temporary file that exists while `use`
 * runs. Every limit is enforced while bytes arrive, and the temporary file is always removed (spec.md "Errors",
 * contract.md §1).
 * @throws ServiceError `unsupported_media_type`, `bad_request`, `validation_error`, the rules' `tooLarge`,
 * `content_too_large`, `request_timeout`
 */
export async function withUpload<T>(
  ctx: Koa.Context,
  rules: UploadRules,
  use: (upload: Upload) => Promise<T>,
): Promise<T> {
  if (!/^multipart\/form-data\s*(;|$)/i.test(ctx.get('content-type'))) {
    throw new ServiceError('unsupported_media_type', 'The body must be multipart/form-data.');
  }
  const folder = await mkdtemp(join(tmpdir(), 'upload-')).catch((error: unknown) => {
    throw storageError(error);
  });
  try {
    return await use(await receive(ctx, rules, join(folder, 'content')));
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

async function receive(ctx: Koa.Context, rules: UploadRules, path: string): Promise<Upload> {
  // Without Content-Length and Transfer-Encoding there is no body, and the parser would wait forever.
  if (ctx.is('multipart/form-data') === null) throw missingFile();
  const collector = new PartCollector(ctx.req, rules, path);
  const parse = koaBody({
    multipart: true,
    json: false,
    urlencoded: false,
    text: false,
    patchKoa: false,
    // Keep names as bytes: if formidable decodes them, a character split between two packets is lost.
    formidable: {
      encoding: 'binary',
      enabledPlugins: [withoutFileNames, multipart],
      onPart: (part) => collector.onPart(part as unknown as Part),
    },
  });
  try {
    const received = Promise.all([parse(ctx, () => Promise.resolve()), finished(ctx.req, { writable: false })]);
    await Promise.race([collector.refused, received]);
    return await collector.result();
  } catch (error) {
    await collector.discard();
    throw refusalOf(error);
  } finally {
    collector.stopWatching();
  }
}

/**
 * Disables formidable's own search for the file name. Its regular expression takes quadratic time (over a minute for a
 * header of 1 MB), and the result is not used (api/http/upload/disposition parses the header).
 */
function withoutFileNames(form: object): void {
  Object.assign(form, { _getFileName: () => null });
}

function refusalOf(error: unknown): unknown {
  const { code } = error as { code?: unknown };
  return BROKEN_BODY.has(code)
    ? new ServiceError('bad_request', 'The multipart body is broken or was not sent to its end.')
    : error;
}
