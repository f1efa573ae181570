import { ServiceError } from '../../src/platform/errors.js';
import { findSkill, type Skill } from '../../src/skills/store.js';
import type { Operation } from '../http/operation.js';

/** The skill that the path names. @throws ServiceError `skill_not_found` */
export const skillOfPath: NonNullable<Operation<undefined, Skill>['resource']> = async ({ deps, caller, params }) =>
  (await findSkill(deps.db, caller.projectId, params.skill_id!)) ?? skillNotFound();

/** 404: missing, deleted or of another project (spec.md "Errors"). */
export function skillNotFound(): never {
  throw new ServiceError('skill_not_found', 'There is no skill of this id.');
}
