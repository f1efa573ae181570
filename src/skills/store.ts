import type { EntityManager } from 'typeorm';
import type { SkillRow } from '../db/entities/skills.js';
import { readPage } from '../db/read-page.js';
import { violatedUniqueConstraint, type Db } from '../db/transaction.js';
import { ServiceError } from '../platform/errors.js';
import type { PageRequest, PageRows } from '../platform/page.js';

export type Skill = Omit<SkillRow, 'deleted_at'>;

const COLUMNS = 'id, project_id, name, description, size_bytes, storage_key, created_at';
const OF_PROJECT = `SELECT ${COLUMNS} FROM skills WHERE project_id = $1 AND deleted_at IS NULL`;

/** The skill, unless it is deleted or of another project. */
export async function findSkill(db: Db, projectId: string, id: string): Promise<Skill | null> {
  const [skill] = await db.query<Skill[]>(`${OF_PROJECT} AND id = $2`, [projectId, id]);
  return skill ?? null;
}

/** Those of the ids that are skills of the project and not deleted, in no promised order. */
export async function findSkills(db: Db, projectId: string, ids: string[]): Promise<Skill[]> {
  if (ids.length === 0) return [];
  return db.query<Skill[]>(`${OF_PROJECT} AND id = ANY($2)`, [projectId, ids]);
}

/** A page of the project's skills, newest first. */
export async function listSkills(db: Db, projectId: string, { limit, after }: PageRequest): Promise<PageRows<Skill>> {
  return readPage<Skill>(db, {
    query: `${OF_PROJECT} ${after === null ? '' : 'AND (created_at, id) < ($3::timestamptz, $4)'}
     ORDER BY created_at DESC, id DESC LIMIT $2`,
    values: [projectId, limit + 1, ...(after ?? [])],
    order: 'created_at DESC, id DESC',
    limit,
  });
}

/** @throws ServiceError `skill_name_taken`: of parallel uploads the unique index lets one through */
export async function insertSkill(tx: EntityManager, skill: Omit<Skill, 'created_at'>): Promise<Skill> {
  try {
    const [row] = await tx.query<{ created_at: string }[]>(
      `INSERT INTO skills (id, project_id, name, description, size_bytes, storage_key)
       VALUES ($1, $2, $3, $4, $5, $6) RETURNING created_at`,
      [skill.id, skill.project_id, skill.name, skill.description, skill.size_bytes, skill.storage_key],
    );
    return { ...skill, ...row! };
  } catch (error) {
    if (violatedUniqueConstraint(error) !== 'skills_name') throw error;
    throw new ServiceError(
      'skill_name_taken',
      `The project has a skill named ${skill.name}. Delete it first, or change the name in SKILL.md.`,
    );
  }
}

/** Frees the skill's name and hides it for good; false when another request was first. */
export async function softDeleteSkill(db: Db, id: string): Promise<boolean> {
  const [, count] = await db.query<[unknown[], number]>(
    'UPDATE skills SET deleted_at = clock_timestamp() WHERE id = $1 AND deleted_at IS NULL',
    [id],
  );
  return count === 1;
}
