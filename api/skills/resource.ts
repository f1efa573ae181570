import { findSkill, skillNotFound } from '../../src/skills/store.js';
import { resourceOfPath } from '../http/resource.js';

/** The skill that the path names. @throws ServiceError `skill_not_found` */
export const skillOfPath = resourceOfPath('skill_id', findSkill, skillNotFound);
