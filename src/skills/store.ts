import type { EntityManager } from 'typeorm';
import { SkillEntity, type SkillRow } from '../db/entities/skills.js';
import {
  findResource,
  findResources,
  insertResource,
  listResources,
  resourcesOf,
  selectRows,
  softDelete,
} from '../db/resources.js';
import { violatedUniqueConstraint, type Db } from '../db/transaction.js';
import { ServiceError } from '../platform/errors.js';
import type { PageRequest, PageRows } from '../platform/page.js';

export type Skill = SkillRow;

/** The skill, unless it is deleted or of another project. */
export function findSkill(db: Db, projectId: string, id: string): Promise<Skill | null> {
  return findResource(db, SkillEntity, projectId, id);
}

/** Those of the ids that are skills of the project and not deleted, in no promised order. */
export function findSkills(db: Db, projectId: string, ids: string[]): Promise<Skill[]> {
  return findResources(db, SkillEntity, projectId, ids);
}

/** A page of the project's skills, newest first. */
export function listSkills(db: Db, projectId: string, page: PageRequest): Promise<PageRows<Skill>> {
  return listResources(db, selectRows(resourcesOf(db, SkillEntity, projectId)), page);
}

/** @throws ServiceError `skill_name_taken`: of parallel uploads the unique index lets one through */
export async function insertSkill(tx: EntityManager, skill: Omit<Skill, 'created_at' | 'deleted_at'>): Promise<Skill> {
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

/** Frees the skill's name and hides it for good; false when another request was first. */
export function softDeleteSkill(db: Db, id: string): Promise<boolean> {
  return softDelete(db, SkillEntity, id);
}

/** Missing, deleted or of another project: one answer. */
export function skillNotFound(ids: string[]): ServiceError {
  return new ServiceError('skill_not_found', `There is no skill ${ids.join(', ')}.`, { skill_ids: ids });
}
