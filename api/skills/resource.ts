import { findSkill, skillNotFound } from '../../src/skills/store.js';
import { resourceOfPath } from '../http/core/resource.js';

export const skillOfPath = resourceOfPath('skill_id', findSkill, skillNotFound);
