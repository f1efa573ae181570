import { fileNotFound, findFile } from '../../src/files/store.js';
import { resourceOfPath } from '../http/core/resource.js';

export const fileOfPath = resourceOfPath('file_id', findFile, fileNotFound);
