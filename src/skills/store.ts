import type { Db, Tx } from '../db/db.js';
import { SkillEntity, type SkillRow } from '../db/entities/skills.js';
import { runSql, sql } from '../db/sql.js';
import { findResource, insertResource, listResources, resourcesOf, selectRows, softDelete } from '../db/resources.js';
import { violatedUniqueConstraint } from '../db/transaction.js';
import { ServiceError } from '../platform/errors.js';
import type { PageRequest, PageRows } from '../platform/page.js';

export type Skill = SkillRow;

export function findSkill(db: Db, projectId: string, id: string): Promise<Skill | null> {
  return findResource(db, SkillEntity, projectId, id);
}

export function listSkills(db: Db, projectId: string, page: PageRequest): Promise<PageRows<Skill>> {
  return listResources(db, selectRows(resourcesOf(db, SkillEntity, projectId)), page);
}

/** @throws ServiceError `skill_name_taken`: the unique index accepts one of several parallel uploads */
export async function insertSkill(tx: Tx, skill: Omit<Skill, 'created_at' | 'deleted_at'>): Promise<Skill> {
  try {
    return await insertResource(tx, SkillEntity, skill);
  } catch (error) {
    if (violatedUniqueConstraint(error) !== 'skills_name') throw error;
    throw new ServiceError(
      'skill_name_taken',
      `The project has a skill named ${skill.name}. Delete it first, or change the name in SKILL.md.`,
    );
  }
}

/** Uploads of one name wait for each other, so that one that replaces finds the skill of the one before. */
export async function lockSkillName(tx: Tx, projectId: string, name: string): Promise<void> {
  await runSql(tx, sql`SELECT pg_advisory_xact_lock(hashtextextended(${`skill ${projectId} ${name}`}, 0))`);
}

/**
 * Deletes the skill of a name softly, if there is one, for another that takes its place in the same transaction. Returns the key of its
 * archive, to remove after the commit.
 */
export async function replaceSkill(tx: Tx, projectId: string, name: string): Promise<string | null> {
  const [before] = await runSql<Pick<Skill, 'id' | 'storage_key'>>(
    tx,
    sql`SELECT id, storage_key FROM skills WHERE project_id = ${projectId} AND name = ${name} AND deleted_at IS NULL`,
  );
  if (before === undefined || !(await softDelete(tx, SkillEntity, before.id))) return null;
  return before.storage_key;
}

/** Deletes the skill softly, which frees its name. Returns false if another request deleted it first. */
export function softDeleteSkill(tx: Tx, id: string): Promise<boolean> {
  return softDelete(tx, SkillEntity, id);
}

export function skillNotFound(ids: string[]): ServiceError {
  return new ServiceError('skill_not_found', `There is no skill ${ids.join(', ')}.`, { skill_ids: ids });
}
