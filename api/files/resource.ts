import { fileNotFound, findFile } from '../../src/files/store.js';
import { resourceOfPath } from '../http/core/resource.js';

/** Finds the file in the path. @throws ServiceError `file_not_found` */
export const fileOfPath = resourceOfPath('file_id', findFile, fileNotFound);
