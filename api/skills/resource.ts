import { findSkill, skillNotFound } from '../../src/skills/store.js';
import { resourceOfPath } from '../http/core/resource.js';

/** Finds the skill in the path. @throws ServiceError `skill_not_found` */
export const skillOfPath = resourceOfPath('skill_id', findSkill, skillNotFound);
