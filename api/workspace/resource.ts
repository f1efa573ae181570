import { ObjectMissingError, storageError } from '../../src/files/storage.js';
import { ServiceError, validationError } from '../../src/platform/errors.js';
import type { Manifest } from '../../src/workspaces/manifest.js';
import { findSessionWorkspace, type Workspace } from '../../src/workspaces/store.js';
import type { Call } from '../http/core/operation.js';
import type { PathOf } from '../http/core/resource.js';
import { sessionNotFound } from '../http/core/session-of-path.js';

/** The workspace of the session in the path. @throws ServiceError `session_not_found`, `workspace_not_found` */
export async function workspaceOfPath({ deps, caller, params }: PathOf): Promise<Workspace> {
  const { workspace } =
    (await findSessionWorkspace(deps.db, caller.projectId, params.session_id!)) ?? sessionNotFound();
  if (workspace === null) {
    throw new ServiceError(
      'workspace_not_found',
      'The session has no workspace. A new session gets one by an entry of type `workspace` in `tools`.',
    );
  }
  return workspace;
}

/** An absolute path of the query. @throws ServiceError `validation_error` */
export function pathOf(query: Record<string, string>, otherwise?: string): string {
  const path = query.path ?? otherwise;
  if (path === undefined) throw validationError('/query/path', 'is required');
  if (!path.startsWith('/')) throw validationError('/query/path', 'must be an absolute path such as /workspace/data');
  return path;
}

export function workspaceFileNotFound(what: 'file' | 'folder'): ServiceError {
  return new ServiceError(
    'workspace_file_not_found',
    `The workspace has no ${what} at this path. Paths are taken as they are written, and links are not followed.`,
  );
}

/**
 * Reads from the newest version. If maintenance has removed an object of the version that the request began with, there is a
 * newer one, which is read instead.
 * @throws ServiceError `storage_error` if the object is lost, and what `read` throws
 */
export async function readNewest<T>(
  { deps, caller, params, resource }: Pick<Call<undefined, Workspace>, 'deps' | 'caller' | 'params' | 'resource'>,
  read: (manifest: Manifest) => Promise<T>,
): Promise<T> {
  const readOf = async ({ manifestKey }: Workspace): Promise<T> =>
    read(await deps.manifests.read(caller.projectId, manifestKey));
  try {
    return await readOf(resource);
  } catch (error) {
    if (!(error instanceof ObjectMissingError)) throw error;
    const newest = await workspaceOfPath({ deps, caller, params });
    return readOf(newest).catch((again: unknown) => {
      throw again instanceof ObjectMissingError ? storageError(again) : again;
    });
  }
}
