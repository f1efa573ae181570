import { requireStorage } from '../../src/files/storage-limit.js';
import { newId } from '../../src/platform/ids.js';
import { MAX_PACKAGE_BYTES, readBundle } from '../../src/skills/bundle.js';
import { removeArchive, storeArchive } from '../../src/skills/content.js';
import { insertSkill, lockSkillName, replaceSkill } from '../../src/skills/store.js';
import { storeUpload, type Upload, type UploadRules } from '../http/upload/multipart.js';
import { answerInTransaction } from '../http/core/idempotency.js';
import { operation, type Call, type JsonSchema } from '../http/core/operation.js';
import { presentSkill, skillSchema } from './present.js';

const PACKAGE: UploadRules = { maxBytes: MAX_PACKAGE_BYTES, tooLarge: 'skill_bundle_too_large' };

const query = {
  type: 'object',
  properties: {
    replace: {
      type: 'boolean',
      description: '`true`: a skill of this name is deleted, in the same moment. Without it, the name must be free.',
    },
  },
} as const satisfies JsonSchema;

export const uploadSkill = operation({
  id: 'uploadSkill',
  summary: 'Upload a skill: a .zip or .skill package, or a single SKILL.md',
  description:
    'Stores a package of instructions that messages can select. The name and description come from `SKILL.md`. A skill never changes: to publish a new version, upload it with `replace=true`.',
  multipart: true,
  query,
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
  const { deps, caller, log, query } = call;
  const bundle = await readBundle(upload.path, upload.filename);
  const { name, description, sizeBytes } = bundle;
  const { projectId } = caller;
  const maxBytes = deps.config.maxStoragePerProject;
  await requireStorage(deps.db, projectId, maxBytes, sizeBytes);
  const id = newId('skill');

  let replaced: string | null = null;
  const answer = await storeArchive({ storage: deps.storage, log }, { projectId, id, bundle }, (storage_key) =>
    answerInTransaction(call, async (tx) => {
      await lockSkillName(tx, projectId, name);
      if (query.replace === 'true') replaced = await replaceSkill(tx, projectId, name);
      const row = { id, project_id: projectId, name, description, size_bytes: sizeBytes, storage_key };
      const skill = await insertSkill(tx, row);
      await requireStorage(tx, projectId, maxBytes);
      return presentSkill(skill);
    }),
  );
  if (replaced !== null) await removeArchive({ storage: deps.storage, log }, replaced);
  return answer;
}
