import { pageOf } from '../../src/platform/page.js';
import { entriesBelow, hasFolder } from '../../src/workspaces/browse.js';
import { WORKSPACE } from '../../src/workspaces/layout.js';
import type { Workspace } from '../../src/workspaces/store.js';
import { operation } from '../http/core/operation.js';
import { filteredList, pageRequest, pageSchema } from '../http/core/page.js';
import { presentEntry, workspaceFileSchema } from './present.js';
import { pathOf, readNewest, workspaceFileNotFound, workspaceOfPath } from './resource.js';

/**
 * GET /v1/sessions/{session_id}/workspace/files: a cursor has the last path, and not the version. So a list that began before a
 * change goes on in the newer tree (docs/decisions.md "Workspace").
 */
export const listWorkspaceFiles = operation<undefined, Workspace>({
  id: 'listWorkspaceFiles',
  summary: 'List the files of a workspace, in the order of their paths',
  description:
    'Shows the files, folders and links below a folder, of all levels, as the newest stored version has them: also while a turn runs. No sandbox is started.',
  paged: true,
  query: {
    type: 'object',
    properties: {
      path: { type: 'string', description: 'The folder, as an absolute path. Default: `/workspace`.' },
    },
  },
  success: { status: 200, description: 'A page of files.', schema: pageSchema(workspaceFileSchema) },
  errors: [
    'session_not_found',
    'workspace_not_found',
    'workspace_file_not_found',
    'validation_error',
    'invalid_cursor',
    'storage_error',
  ],
  resource: workspaceOfPath,
  async handle(call) {
    const path = pathOf(call.query, WORKSPACE);
    const list = filteredList('workspace', [call.params.session_id, path]);
    const { limit, after } = pageRequest(call.query, list, 1);
    return readNewest(call, async (manifest) => {
      if (!hasFolder(manifest, path)) throw workspaceFileNotFound('folder');
      const rows = entriesBelow(manifest, path, after === null ? '' : pathOfKey(after), limit + 1);
      const page = { rows: rows.slice(0, limit), hasMore: rows.length > limit };
      return pageOf(list, page, (entry) => [keyOf(entry.path)], presentEntry);
    });
  },
});

/** In JSON a path of control characters is six times as long, and its cursor would be too long. */
function keyOf(path: string): string {
  return Buffer.from(path).toString('base64url');
}

function pathOfKey([key]: string[]): string {
  return Buffer.from(key!, 'base64url').toString();
}
