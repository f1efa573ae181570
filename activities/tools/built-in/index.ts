import type { TurnContext } from '../../../src/steps/context.js';
import { deliverFile, deliverFileOrPath } from './deliver-file.js';
import { listFiles } from './list-files.js';
import { readFile } from './read-file.js';
import { readSkillFileTool } from './read-skill-file.js';
import type { BuiltInTool } from '../tool.js';
import { useSkill } from './use-skill.js';
import { bash } from './workspace/bash.js';
import { edit } from './workspace/edit.js';
import { read } from './workspace/read.js';
import { write } from './workspace/write.js';

/** The built-in tools of a turn (contract.md §4), in a fixed order. Skill tools are included if the turn has skills, those of the workspace if the session has one. */
export function builtInTools({ skills, workspace }: Pick<TurnContext, 'skills' | 'workspace'>): BuiltInTool[] {
  return [
    ...(skills.length > 0 ? [useSkill, readSkillFileTool] : []),
    ...[listFiles, readFile],
    ...(workspace === null ? [deliverFile] : [deliverFileOrPath, bash, read, write, edit]),
  ];
}
