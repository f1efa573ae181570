import { Readable } from 'node:stream';
import { readText } from '../../src/memories/files.js';
import type { Memory } from '../../src/memories/store.js';
import { validationError } from '../../src/platform/errors.js';
import { DOWNLOAD_HEADERS, sendContent } from '../http/core/download.js';
import { operation } from '../http/core/operation.js';
import { checkPath, memoryFileNotFound, memoryOfPath } from './resource.js';

export const memoryContent = operation<undefined, Memory>({
  id: 'memoryContent',
  summary: 'Read a file of a memory',
  description: 'The text as it is, or as a version of the memory left it.',
  query: {
    type: 'object',
    properties: {
      path: { type: 'string', description: 'The file.' },
      version: { type: 'string', description: 'The number of a version of the memory; without it, the present text.' },
    },
    required: ['path'],
  },
  success: {
    status: 200,
    description: 'The text of the file.',
    mediaType: 'text/plain',
    schema: { type: 'string', description: 'The text, in UTF-8.' },
    example: 'Likes green tea.\n',
  },
  errors: ['memory_not_found', 'memory_file_not_found', 'validation_error', 'too_many_requests'],
  resource: memoryOfPath,
  async handle({ deps, ctx, caller, resource, query }) {
    const path = checkPath(query.path!, '/query/path');
    const version = versionOf(query.version);
    await deps.downloads.enter(caller.projectId, ctx.res);
    const text = await readText(deps.db, resource.id, path, version);
    if (text === null) throw memoryFileNotFound();
    const bytes = Buffer.from(text);
    ctx.status = 200;
    ctx.set(DOWNLOAD_HEADERS);
    ctx.set('Content-Type', 'text/plain; charset=utf-8');
    sendContent(ctx, Readable.from(bytes.length === 0 ? [] : [bytes], { objectMode: false }), bytes.length);
  },
});

/** A number too large for a version is one that does not exist. */
function versionOf(text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  if (!/^\d{1,18}$/.test(text)) throw validationError('/query/version', 'must be the number of a version');
  return Math.min(Number(text), 2 ** 31 - 1);
}
