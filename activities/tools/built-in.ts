import type { TurnContext } from '../turn-context.js';
import { deliverFile } from './deliver-file.js';
import { listFiles } from './list-files.js';
import { readFile } from './read-file.js';
import { readSkillFileTool } from './read-skill-file.js';
import type { BuiltInTool } from './tool.js';
import { useSkill } from './use-skill.js';

/** The service's own tools for a turn (contract.md §4), in a fixed order; those for skills only where some are selected. */
export function builtInTools(turn: Pick<TurnContext, 'skills'>): BuiltInTool[] {
  return [listFiles, readFile, deliverFile, ...(turn.skills.length > 0 ? [useSkill, readSkillFileTool] : [])];
}
