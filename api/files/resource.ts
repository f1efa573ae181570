import { FileEntity } from '../../src/db/entities/files.js';
import { fileNotFound } from '../../src/files/store.js';
import { resourceOfPath } from '../http/resource.js';

/** The file that the path names. @throws ServiceError `file_not_found` */
export const fileOfPath = resourceOfPath(FileEntity, 'file_id', fileNotFound);
