import type { TurnContext } from '../../../src/steps/context.js';
import { deliverFile } from './deliver-file.js';
import { listFiles } from './list-files.js';
import { readFile } from './read-file.js';
import { readSkillFileTool } from './read-skill-file.js';
import type { BuiltInTool } from '../tool.js';
import { useSkill } from './use-skill.js';

/** The built-in tools of a turn (contract.md §4), in a fixed order. Skill tools are included if the turn has skills. */
export function builtInTools({ skills }: Pick<TurnContext, 'skills'>): BuiltInTool[] {
  return [...(skills.length > 0 ? [useSkill, readSkillFileTool] : []), listFiles, readFile, deliverFile];
}
