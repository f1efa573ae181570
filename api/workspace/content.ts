import { Readable } from 'node:stream';
import type { Storage } from '../../src/files/storage.js';
import { findEntry } from '../../src/workspaces/browse.js';
import { isFile, type FileEntry } from '../../src/workspaces/manifest.js';
import type { Workspace } from '../../src/workspaces/store.js';
import { FILE_BYTES, sendFile } from '../http/core/download.js';
import { operation } from '../http/core/operation.js';
import { DOWNLOAD_ERRORS, whole } from './download.js';
import { pathOf, readNewest, workspaceFileNotFound, workspaceOfPath } from './resource.js';

/** GET /v1/sessions/{session_id}/workspace/content: the bytes of one file, read by their range in a pack. */
export const workspaceContent = operation<undefined, Workspace>({
  id: 'workspaceContent',
  summary: 'Read a file of a workspace',
  description: 'The content of a regular file, as the newest stored version has it. Links are not followed.',
  query: {
    type: 'object',
    properties: { path: { type: 'string', description: 'The file, as an absolute path.' } },
    required: ['path'],
  },
  success: FILE_BYTES,
  errors: [...DOWNLOAD_ERRORS],
  resource: workspaceOfPath,
  async handle(call) {
    const { deps, ctx, caller, query } = call;
    const path = pathOf(query);
    await deps.downloads.enter(caller.projectId, ctx.res);
    const { file, content } = await readNewest(call, async (manifest) => {
      const entry = findEntry(manifest, path);
      if (entry === null || !isFile(entry)) throw workspaceFileNotFound('file');
      return { file: entry, content: await openFile(deps.storage, entry) };
    });
    sendFile(ctx, path, whole(content, file.size), file.size);
  },
});

/** @throws ObjectMissingError, ServiceError `storage_error` */
async function openFile(storage: Storage, { at, size }: FileEntry): Promise<Readable> {
  if (at === null) return Readable.from([], { objectMode: false });
  return storage.open(at.pack, { start: at.offset, end: at.offset + size - 1 });
}
