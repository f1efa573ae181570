import { requireStorage } from '../../src/files/storage-limit.js';
import { newId } from '../../src/platform/ids.js';
import { MAX_PACKAGE_BYTES, readBundle } from '../../src/skills/bundle.js';
import { storeArchive } from '../../src/skills/content.js';
import { insertSkill } from '../../src/skills/store.js';
import { storeUpload, type Upload, type UploadRules } from '../http/upload/multipart.js';
import { answerInTransaction } from '../http/core/idempotency.js';
import { operation, type Call } from '../http/core/operation.js';
import { presentSkill, skillSchema } from './present.js';

const PACKAGE: UploadRules = { maxBytes: MAX_PACKAGE_BYTES, tooLarge: 'skill_bundle_too_large' };

export const uploadSkill = operation({
  id: 'uploadSkill',
  summary: 'Upload a skill: a .zip or .skill package, or a single SKILL.md',
  description:
    'Stores a package of instructions that messages can select. The name and description come from `SKILL.md`. A skill never changes: to publish a new version, delete the old one and upload again.',
  multipart: true,
  idempotent: true,
  success: { status: 201, description: 'The skill.', schema: skillSchema },
  errors: [
    'bad_request',
    'request_timeout',
    'unsupported_media_type',
    'validation_error',
    'content_too_large',
    'skill_bundle_too_large',
    'storage_limit_reached',
    'invalid_skill_bundle',
    'skill_name_taken',
    'storage_error',
  ],
  handle: (call) => storeUpload(call, PACKAGE, (upload) => createSkill(call, upload)),
});

async function createSkill(call: Call, upload: Upload): Promise<unknown> {
  const { deps, caller, log } = call;
  const bundle = await readBundle(upload.path, upload.filename);
  const { name, description, sizeBytes } = bundle;
  const { projectId } = caller;
  const maxBytes = deps.config.maxStoragePerProject;
  await requireStorage(deps.db, projectId, maxBytes, sizeBytes);
  const id = newId('skill');

  return storeArchive({ storage: deps.storage, log }, { projectId, id, bundle }, (storage_key) =>
    answerInTransaction(call, async (tx) => {
      const row = { id, project_id: projectId, name, description, size_bytes: sizeBytes, storage_key };
      const skill = await insertSkill(tx, row);
      await requireStorage(tx, projectId, maxBytes);
      return presentSkill(skill);
    }),
  );
}
