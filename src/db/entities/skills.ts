import { EntitySchema } from 'typeorm';

export interface SkillRow {
  id: string;
  project_id: string;
  name: string;
  description: string;
  size_bytes: number;
  /** Key of the normalised archive in file storage. */
  storage_key: string;
  created_at: string;
  deleted_at: string | null;
}

export const SkillEntity = new EntitySchema<SkillRow>({
  name: 'skills',
  columns: {
    id: { type: 'text', primary: true },
    project_id: { type: 'text' },
    name: { type: 'text' },
    description: { type: 'text' },
    size_bytes: { type: 'bigint' },
    storage_key: { type: 'text' },
    created_at: { type: 'text', insert: false },
    deleted_at: { type: 'text', nullable: true },
  },
});
