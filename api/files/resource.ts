import { fileNotFound, filesOfTokens, findFile, type FileRow } from '../../src/files/store.js';
import type { PathOf } from '../http/core/resource.js';

/** The file of the path. A session token sees the files of its session only. @throws ServiceError `file_not_found` */
export async function fileOfPath({ deps, caller, params }: PathOf): Promise<FileRow> {
  const id = params.file_id!;
  const file = await findFile(deps.db, caller.projectId, id);
  if (file === null) throw fileNotFound([id]);
  if (caller.token !== null && !(await filesOfTokens(deps.db, caller.token.sessionId, [id]))(file))
    throw fileNotFound([id]);
  return file;
}
