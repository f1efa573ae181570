import { createReadStream } from 'node:fs';
import { checkedFilename } from '../../src/files/filename.js';
import { saveUpload } from '../../src/files/save.js';
import { MAX_FILE_BYTES } from '../../src/files/store.js';
import { jsonHash } from '../../src/platform/json-hash.js';
import { withUpload, type Upload, type UploadRules } from '../http/upload/multipart.js';
import { operation, type Call } from '../http/core/operation.js';
import { fileSchema, presentFile } from './present.js';

const RULES: UploadRules = { maxBytes: MAX_FILE_BYTES, tooLarge: 'file_too_large', filename: checkedFilename };

/** POST /v1/files: the body goes to disk, then to the storage; the row is inserted last. */
export const uploadFile = operation({
  id: 'uploadFile',
  summary: 'Upload a file',
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
  // Two uploads are equal if file name and bytes are equal (contract.md §1 "Idempotency-Key").
  handle: (call) =>
    call.deps.uploads.within(call.ctx, call.caller.projectId, RULES.maxBytes, () =>
      withUpload(call.ctx, RULES, (upload) =>
        call.once(jsonHash([upload.filename, upload.sha256]), () => store(call, upload)),
      ),
    ),
});

async function store(call: Call<undefined, undefined>, { filename, path, size }: Upload): Promise<object> {
  const { db, storage, config } = call.deps;
  const target = { db, storage, projectId: call.caller.projectId, maxBytes: config.maxStoragePerProject };
  const content = { filename, size, open: () => createReadStream(path) };
  const row = await saveUpload(target, content, (tx, saved) => call.record(tx, presentFile(saved)));
  return presentFile(row);
}
