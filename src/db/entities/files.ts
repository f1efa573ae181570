import { EntitySchema } from 'typeorm';

export type FileOrigin = 'UPLOAD' | 'OUTPUT';

export interface FileRow {
  id: string;
  project_id: string;
  filename: string;
  mime_type: string;
  size_bytes: number;
  origin: FileOrigin;
  /** The session in which the agent delivered it; null for an upload. */
  session_id: string | null;
  /** The session with whose token it was uploaded; null if it was uploaded with a key. */
  token_session_id: string | null;
  /** Key of the object in file storage; it contains no client input. */
  storage_key: string;
  created_at: string;
  deleted_at: string | null;
}

export const FileEntity = new EntitySchema<FileRow>({
  name: 'files',
  columns: {
    id: { type: 'text', primary: true },
    project_id: { type: 'text' },
    filename: { type: 'text' },
    mime_type: { type: 'text' },
    size_bytes: { type: 'bigint' },
    origin: { type: 'text' },
    session_id: { type: 'text', nullable: true },
    token_session_id: { type: 'text', nullable: true },
    storage_key: { type: 'text' },
    created_at: { type: 'text', insert: false },
    deleted_at: { type: 'text', nullable: true },
  },
});
