import type { TurnContext } from '../../../src/turns/context.js';
import { deliverFile } from './deliver-file.js';
import { listFiles } from './list-files.js';
import { readFile } from './read-file.js';
import { readSkillFileTool } from './read-skill-file.js';
import type { BuiltInTool } from '../tool.js';
import { useSkill } from './use-skill.js';

/** The service's own tools for a turn (contract.md §4), in a fixed order; those for skills when it has any. */
export function builtInTools({ skills }: Pick<TurnContext, 'skills'>): BuiltInTool[] {
  return [...(skills.length > 0 ? [useSkill, readSkillFileTool] : []), listFiles, readFile, deliverFile];
}
