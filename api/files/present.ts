import { presented, timestamp } from '../http/core/presenter.js';

export const { schema: fileSchema, present: presentFile } = presented('File', {
  id: { type: 'string', pattern: '^file_' },
  filename: { type: 'string' },
  mime_type: { type: 'string' },
  size_bytes: { type: 'integer' },
  origin: { type: 'string', enum: ['UPLOAD', 'OUTPUT'] },
  session_id: { type: ['string', 'null'] },
  created_at: timestamp,
});
