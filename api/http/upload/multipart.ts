import type Koa from 'koa';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { finished } from 'node:stream/promises';
import { ServiceError } from '../../../src/platform/errors.js';
import { storageError } from '../../../src/files/storage.js';
import { brokenBody, MAX_BOUNDARY_LENGTH } from './multipart-parser.js';
import { PartCollector, type Upload, type UploadRules } from './part-collector.js';

export type { Upload, UploadRules };

/**
 * Receives the single file of a multipart body, in its field `file`, into a temporary file that exists while `use`
 * runs. Every limit is enforced while bytes arrive, and the temporary file is always removed (docs/contract.md §1,
 * §14).
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
  const collector = new PartCollector(ctx.req, boundaryOf(ctx.get('content-type')), rules, path);
  try {
    await Promise.race([collector.refused, finished(ctx.req, { writable: false }).catch(cutOff)]);
    return await collector.result();
  } catch (error) {
    await collector.discard();
    throw error;
  } finally {
    collector.stop();
  }
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
