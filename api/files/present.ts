import { described } from '../../src/platform/object-schema.js';
import { count, idField, idOrNull, text, timestamp } from '../../src/platform/schema-fields.js';
import { presented } from '../http/core/presenter.js';

export const originSchema = {
  $id: 'FileOrigin',
  type: 'string',
  enum: ['UPLOAD', 'OUTPUT'],
  description: '`UPLOAD`: a client uploaded it. `OUTPUT`: the agent delivered it.',
} as const;

export const { schema: fileSchema, present: presentFile } = presented(
  'File',
  'A file that a client uploaded, or that the agent delivered.',
  {
    id: idField('file', 'Id of the file.'),
    filename: described(text, 'Its name with the extension.'),
    mime_type: described(text, 'Its media type, found from the extension of its name.'),
    size_bytes: described(count, 'Its size in bytes.'),
    origin: originSchema,
    session_id: idOrNull('session', 'The session in which the agent delivered it; null for an upload.'),
    created_at: described(timestamp, 'When it was stored.'),
  },
  {
    id: 'file_01kag8x5t6y7u8i9o0p1a2s3d4',
    filename: 'orders.csv',
    mime_type: 'text/csv',
    size_bytes: 20_480,
    origin: 'UPLOAD',
    session_id: null,
    created_at: '2026-11-21T09:47:00.000001Z',
  },
);
