import type { MemoryFile, MemoryVersion } from '../../src/memories/files.js';
import type { ChangedBy, Memory } from '../../src/memories/store.js';
import { described, objectSchema } from '../../src/platform/object-schema.js';
import { count, idField, idOrNull, text, timestamp } from '../../src/platform/schema-fields.js';
import { presented } from '../http/core/presenter.js';

const memory = presented(
  'Memory',
  'Files that agents keep between sessions.',
  {
    id: idField('memory', 'Id of the memory.'),
    user: { type: ['string', 'null'], description: 'The user whose it is; null for a memory of no user.' },
    agent_id: { type: ['string', 'null'], description: 'The agent whose it is; null for a memory of no agent.' },
    version: described(count, 'Grows by one with each change.'),
    file_count: described(count, 'How many files it has.'),
    size_bytes: described(count, 'The bytes of its files.'),
    created_at: described(timestamp, 'When it was made.'),
    updated_at: described(timestamp, 'When it last changed.'),
  },
  {
    id: 'mem_01kag8u1w2e3r4t5y6u7i8o9p0',
    user: 'jane@example.com',
    agent_id: null,
    version: 3,
    file_count: 1,
    size_bytes: 18,
    created_at: '2026-11-21T09:20:00.000001Z',
    updated_at: '2026-11-21T09:48:04.100001Z',
  },
);
export const { schema: memorySchema } = memory;

export function presentMemory(row: Memory): Record<string, unknown> {
  return memory.present({ ...row, user: row.end_user });
}

const author = {
  $id: 'MemoryAuthor',
  description: 'Who made a change: a turn of a session, or a request with a key.',
  ...objectSchema({
    session_id: idOrNull('session', 'The session of the turn; null for a request.'),
    turn_id: idOrNull('turn', 'The turn; null for a request.'),
    key_id: idOrNull('apiKey', 'The key of the request; null for a turn.'),
  }),
};
const authorExample = {
  session_id: 'ses_01kag8y7m3w9s1p4x2c5v6b7n8',
  turn_id: 'turn_01kag8z0d4k7q2r9t5y8h3j6m1',
  key_id: null,
};
const sha256 = 'f2ca1bb6c7e907d06dafe4687e579fce76b37e4e93b7605022da52e6ccc26fd2';

function authorOf({ session_id, turn_id, key_id }: ChangedBy): ChangedBy {
  return { session_id, turn_id, key_id };
}

const file = presented(
  'MemoryFile',
  'A file of a memory.',
  {
    path: described(text, 'Its path in the memory, which begins with `/`.'),
    size_bytes: described(count, 'Its bytes, in UTF-8.'),
    sha256: described(text, 'The SHA-256 of its bytes, in hex.'),
    version: described(count, 'The version of the memory that gave it this text and path.'),
    updated_at: described(timestamp, 'When that was.'),
    updated_by: author,
  },
  {
    path: '/preferences.md',
    size_bytes: 18,
    sha256,
    version: 3,
    updated_at: '2026-11-21T09:48:04.100001Z',
    updated_by: authorExample,
  },
);
export const { schema: memoryFileSchema } = file;

export function presentMemoryFile(row: MemoryFile): Record<string, unknown> {
  return file.present({ ...row, sha256: row.sha256.toString('hex'), updated_by: authorOf(row) });
}

const version = presented(
  'MemoryVersion',
  'What a version of a memory did to one file.',
  {
    version: described(count, 'The number of the version. A change of several files has an entry for each.'),
    path: described(text, 'The file.'),
    change: {
      $id: 'MemoryChange',
      type: 'string',
      enum: ['created', 'modified', 'deleted'],
      description: 'What became of it. A renamed file is deleted at its old path and created at the new one.',
    },
    size_bytes: {
      type: ['integer', 'null'],
      format: 'int64',
      minimum: 0,
      description: 'Its bytes then; null for a deleted file.',
    },
    sha256: { type: ['string', 'null'], description: 'The SHA-256 of its bytes then; null for a deleted file.' },
    by: author,
    created_at: described(timestamp, 'When it was made.'),
  },
  {
    version: 3,
    path: '/preferences.md',
    change: 'modified',
    size_bytes: 18,
    sha256,
    by: authorExample,
    created_at: '2026-11-21T09:48:04.100001Z',
  },
);
export const { schema: memoryVersionSchema } = version;

export function presentMemoryVersion(row: MemoryVersion): Record<string, unknown> {
  return version.present({ ...row, sha256: row.sha256?.toString('hex') ?? null, by: authorOf(row) });
}
