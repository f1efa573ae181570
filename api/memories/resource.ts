import { memoryNotFound } from '../../src/memories/files.js';
import { pathProblem } from '../../src/memories/paths.js';
import { findMemory } from '../../src/memories/store.js';
import { ServiceError, validationError } from '../../src/platform/errors.js';
import { resourceOfPath } from '../http/core/resource.js';

export const memoryOfPath = resourceOfPath('memory_id', findMemory, memoryNotFound);

/** @throws ServiceError `validation_error` for a path that no file or folder of a memory can have */
export function checkPath(path: string, place: '/path' | '/query/path'): string {
  const problem = pathProblem(path);
  if (problem !== null) throw validationError(place, problem);
  return path;
}

export function memoryFileNotFound(): ServiceError {
  return new ServiceError('memory_file_not_found', 'The memory has no such file, or does not keep this version of it.');
}
