import { Readable } from 'node:stream';
import { WorkspaceArchive } from '../../src/workspaces/archive.js';
import { hasFolder } from '../../src/workspaces/browse.js';
import { WORKSPACE } from '../../src/workspaces/layout.js';
import type { Workspace } from '../../src/workspaces/store.js';
import { BYTES, sendFile } from '../http/core/download.js';
import { operation } from '../http/core/operation.js';
import { DOWNLOAD_ERRORS, whole } from './download.js';
import { pathOf, readNewest, workspaceFileNotFound, workspaceOfPath } from './resource.js';

/** GET /v1/sessions/{session_id}/workspace/archive: a folder as ZIP, built while it is sent. */
export const workspaceArchive = operation<undefined, Workspace>({
  id: 'workspaceArchive',
  summary: 'Download a folder of a workspace as ZIP',
  description:
    'The files and folders below a folder, as the newest stored version has them. Names are relative to the folder and permission bits are kept. Links are left out. A backslash in a name is `%5C`, and the colon of a name like `C:` is `%3A`.',
  query: {
    type: 'object',
    properties: { path: { type: 'string', description: 'The folder, as an absolute path. Default: `/workspace`.' } },
  },
  success: {
    status: 200,
    description: 'The archive.',
    mediaType: 'application/zip',
    schema: BYTES,
    example: 'the bytes of the archive',
    headers: { 'Content-Disposition': '`attachment` with the name `workspace.zip`.' },
  },
  errors: [...DOWNLOAD_ERRORS],
  resource: workspaceOfPath,
  async handle(call) {
    const { deps, ctx, caller, query } = call;
    const path = pathOf(query, WORKSPACE);
    await deps.downloads.enter(caller.projectId, ctx.res);
    const archive = await readNewest(call, async (manifest) => {
      if (!hasFolder(manifest, path)) throw workspaceFileNotFound('folder');
      const found = await WorkspaceArchive.of(manifest, path);
      // Before the first byte: afterwards a missing object could only cut the archive off.
      await Promise.all(found.packs.map((key) => deps.storage.size(key)));
      return found;
    });
    const content = Readable.from(archive.chunks(deps.storage), { objectMode: false });
    sendFile(ctx, 'workspace.zip', whole(content, archive.size), archive.size);
  },
});
