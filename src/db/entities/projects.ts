import { EntitySchema } from 'typeorm';

export interface ProjectRow {
  id: string;
  name: string;
  max_running_turns: number;
  rate_per_minute: number | null;
  created_at: string;
}

export const ProjectEntity = new EntitySchema<ProjectRow>({
  name: 'projects',
  columns: {
    id: { type: 'text', primary: true },
    name: { type: 'text' },
    max_running_turns: { type: 'integer', default: 100 },
    rate_per_minute: { type: 'integer', nullable: true },
    created_at: { type: 'text', insert: false },
  },
});

export interface ApiKeyRow {
  id: string;
  project_id: string;
  name: string | null;
  key_hash: Buffer;
  scopes: string[];
  approver_groups: string[];
  created_by: string | null;
  created_at: string;
  expires_at: string | null;
  revoked_at: string | null;
  last_used_at: string | null;
}

export const ApiKeyEntity = new EntitySchema<ApiKeyRow>({
  name: 'api_keys',
  columns: {
    id: { type: 'text', primary: true },
    project_id: { type: 'text' },
    name: { type: 'text', nullable: true },
    key_hash: { type: 'bytea' },
    scopes: { type: 'text', array: true },
    approver_groups: { type: 'text', array: true, default: [] },
    created_by: { type: 'text', nullable: true },
    created_at: { type: 'text', insert: false },
    expires_at: { type: 'text', nullable: true },
    revoked_at: { type: 'text', nullable: true },
    last_used_at: { type: 'text', nullable: true },
  },
});
