import type { Erasure } from '../../src/erasures/store.js';
import { described } from '../../src/platform/object-schema.js';
import { count, idField, timestamp, timestampOrNull } from '../../src/platform/schema-fields.js';
import { presented } from '../http/core/presenter.js';

const erasure = presented(
  'Erasure',
  'The erasure of a person with everything that the project stores of them.',
  {
    id: idField('erasure', 'Id of the erasure.'),
    user: {
      type: ['string', 'null'],
      description: 'The person, as your back end names them; null 30 days after the end.',
    },
    status: {
      $id: 'ErasureStatus',
      type: 'string',
      enum: ['running', 'done'],
      description: '`running`: it goes on by itself, behind earlier erasures of the project. `done`: nothing is left.',
    },
    sessions: described(count, 'Sessions that are gone so far.'),
    credentials: described(count, 'Credentials that are gone so far.'),
    memories: described(count, 'Memories that are gone so far.'),
    files: described(count, 'Files that are gone so far.'),
    created_at: described(timestamp, 'When it was begun. What is made for the person later stays.'),
    finished_at: described(timestampOrNull, 'When it was done; null before.'),
  },
  {
    id: 'era_01kag8u1w2e3r4t5y6u7i8o9p0',
    user: 'jane@example.com',
    status: 'done',
    sessions: 12,
    credentials: 1,
    memories: 1,
    files: 3,
    created_at: '2026-11-21T09:20:00.000001Z',
    finished_at: '2026-11-21T09:20:04.100001Z',
  },
);
export const { schema: erasureSchema } = erasure;

export function presentErasure(row: Erasure): Record<string, unknown> {
  return erasure.present({ ...row, user: row.end_user, status: row.finished_at === null ? 'running' : 'done' });
}
