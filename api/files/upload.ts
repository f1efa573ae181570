import { createReadStream } from 'node:fs';
import { checkedFilename } from '../../src/files/filename.js';
import { saveUpload } from '../../src/files/save.js';
import { MAX_FILE_BYTES } from '../../src/files/store.js';
import { storeUpload, type Upload, type UploadRules } from '../http/upload/multipart.js';
import { operation, type Call } from '../http/core/operation.js';
import { fileSchema, presentFile } from './present.js';

const RULES: UploadRules = { maxBytes: MAX_FILE_BYTES, tooLarge: 'file_too_large', filename: checkedFilename };

/** POST /v1/files: the body goes to disk, then to the storage; the row is inserted last. */
export const uploadFile = operation({
  id: 'uploadFile',
  summary: 'Upload a file',
  description: 'Stores a file that messages can attach: a form with the part `file`, at most 100 MiB.',
  multipart: true,
  idempotent: true,
  success: { status: 201, description: 'The file', schema: fileSchema },
  errors: [
    'bad_request',
    'request_timeout',
    'file_too_large',
    'storage_limit_reached',
    'content_too_large',
    'unsupported_media_type',
    'validation_error',
    'invalid_filename',
    'storage_error',
  ],
  handle: (call) => storeUpload(call, RULES, (upload) => store(call, upload)),
});

async function store(call: Call<undefined, undefined>, { filename, path, size }: Upload): Promise<object> {
  const { db, storage, config } = call.deps;
  const { projectId, token } = call.caller;
  const target = { db, storage, projectId, maxBytes: config.maxStoragePerProject, token };
  const content = { filename, size, open: () => createReadStream(path) };
  const row = await saveUpload(target, content, (tx, saved) => call.record(tx, presentFile(saved)));
  return presentFile(row);
}
