import type { FromSchema } from 'json-schema-to-ts';
import { putFile } from '../../src/memories/files.js';
import type { Memory } from '../../src/memories/store.js';
import { validationError } from '../../src/platform/errors.js';
import { objectSchema } from '../../src/platform/object-schema.js';
import { isStorableText } from '../../src/platform/text.js';
import { answerInTransaction } from '../http/core/idempotency.js';
import { operation, type JsonSchema } from '../http/core/operation.js';
import { memoryFileSchema, presentMemoryFile } from './present.js';
import { checkPath, memoryOfPath } from './resource.js';

const body = {
  $id: 'NewMemoryFile',
  description: 'A file of a memory with its text.',
  ...objectSchema(
    {
      path: { type: 'string', description: 'Its path in the memory, which begins with `/`.' },
      content: { type: 'string', description: 'The text: at most 100 KiB in UTF-8.' },
    },
    {
      expected_sha256: {
        type: ['string', 'null'],
        pattern: '^[0-9a-fA-F]{64}$',
        description:
          'The SHA-256 that the file must have now, in hex; null: it must not be there. Without the field, the file is made or replaced whatever it has.',
      },
    },
  ),
  examples: [{ path: '/preferences.md', content: 'Likes green tea.\n', expected_sha256: null }],
} as const satisfies JsonSchema;

export const writeMemoryFile = operation<FromSchema<typeof body>, Memory>({
  id: 'writeMemoryFile',
  summary: 'Write a file of a memory',
  description:
    'Makes the file or replaces its text, as the next version. With `expected_sha256` nothing that was written meanwhile is lost.',
  body,
  idempotent: true,
  success: { status: 201, description: 'The file.', schema: memoryFileSchema },
  errors: [
    'memory_not_found',
    'memory_conflict',
    'memory_file_limit_reached',
    'content_too_large',
    'storage_limit_reached',
  ],
  resource: memoryOfPath,
  check({ body: { path, content } }) {
    checkPath(path, '/path');
    if (!isStorableText(content)) throw validationError('/content', 'must not have NUL or half of a character');
  },
  handle(call) {
    const { deps, caller, resource, body } = call;
    const file = { ...body, expectedSha256: body.expected_sha256?.toLowerCase() ?? body.expected_sha256 };
    const by = { session_id: null, turn_id: null, key_id: caller.keyId };
    return answerInTransaction(call, async (tx) =>
      presentMemoryFile(await putFile(tx, resource.id, file, by, deps.config.maxStoragePerProject)),
    );
  },
});
