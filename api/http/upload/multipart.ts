import type Koa from 'koa';
import { koaBody } from 'koa-body';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Writable } from 'node:stream';
import { finished } from 'node:stream/promises';
import { ServiceError } from '../../../src/platform/errors.js';
import { storageError } from '../../../src/files/storage.js';
import { jsonHash } from '../../../src/platform/json-hash.js';
import type { Call } from '../core/operation.js';
import { brokenBody, MAX_BOUNDARY_LENGTH } from './multipart-parser.js';
import { missingFile, PartCollector, type Upload, type UploadRules } from './part-collector.js';

export type { Upload, UploadRules };

/**
 * Runs `store` with the upload of a call in a slot of its project, once for its `Idempotency-Key`: two uploads are equal
 * if file name and bytes are equal (decisions.md "HTTP").
 */
export function storeUpload<T>(
  { ctx, deps, caller, once }: Pick<Call, 'ctx' | 'deps' | 'caller' | 'once'>,
  rules: UploadRules,
  store: (upload: Upload) => Promise<T>,
): Promise<T> {
  return deps.uploads.within(ctx, caller.projectId, rules.maxBytes, () =>
    withUpload(ctx, rules, (upload) => once(jsonHash([upload.filename, upload.sha256]), () => store(upload))),
  );
}

/**
 * Receives the single file of a multipart body, in its field `file`, into a temporary file that exists while `use`
 * runs. Every limit is enforced while bytes arrive, and the temporary file is always removed (docs/decisions.md "HTTP", "Limits of work").
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
  const collector = new PartCollector(ctx.req, boundaryOf(ctx.get('content-type')), rules, path);
  const parse = koaBody({
    multipart: true,
    json: false,
    urlencoded: false,
    text: false,
    patchKoa: false,
    formidable: { enabledPlugins: [(form: object) => useParser(form as Form, collector)] },
  });
  try {
    const received = Promise.all([parse(ctx, () => Promise.resolve()), finished(ctx.req, { writable: false })]);
    await Promise.race([collector.refused, received.catch(cutOff)]);
    return await collector.result();
  } catch (error) {
    await collector.discard();
    throw error;
  } finally {
    collector.stop();
  }
}

/** What a plugin of formidable sets: the parser of the body. The form ends when the parser has ended. */
interface Form extends NodeJS.EventEmitter {
  _parser: Writable;
}

/** formidable's own parser takes a second of CPU for a MiB of carriage returns, and quadratic time for long headers. */
function useParser(form: Form, { parser }: PartCollector): void {
  form._parser = parser;
  parser.once('finish', () => form.emit('end'));
}

function boundaryOf(contentType: string): string {
  const [, quoted, token] = /;\s*boundary=(?:"([^"]*)"|([^\s;"]*))/i.exec(contentType) ?? [];
  const boundary = quoted ?? token ?? '';
  if (boundary.length >= 1 && boundary.length <= MAX_BOUNDARY_LENGTH) return boundary;
  throw new ServiceError(
    'bad_request',
    `Content-Type must name the boundary of the parts, with 1 to ${MAX_BOUNDARY_LENGTH} characters.`,
  );
}

function cutOff(): never {
  throw brokenBody();
}
