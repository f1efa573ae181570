import type { FileRow } from '../../src/files/store.js';
import type { JsonSchema } from '../http/core/operation.js';

export const fileSchema = {
  $id: 'File',
  type: 'object',
  properties: {
    id: { type: 'string', pattern: '^file_' },
    filename: { type: 'string' },
    mime_type: { type: 'string' },
    size_bytes: { type: 'integer' },
    origin: { type: 'string', enum: ['UPLOAD', 'OUTPUT'] },
    session_id: { type: ['string', 'null'] },
    created_at: { type: 'string', format: 'date-time' },
  },
  required: ['id', 'filename', 'mime_type', 'size_bytes', 'origin', 'session_id', 'created_at'],
  additionalProperties: false,
} as const satisfies JsonSchema;

export function presentFile(row: FileRow): Record<string, unknown> {
  return {
    id: row.id,
    filename: row.filename,
    mime_type: row.mime_type,
    size_bytes: row.size_bytes,
    origin: row.origin,
    session_id: row.session_id,
    created_at: row.created_at,
  };
}
