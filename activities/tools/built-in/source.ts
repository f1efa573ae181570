import type { ToolSource } from '../tool-source.js';
import type { TurnContext } from '../../../src/steps/context.js';
import type { TurnDeps } from '../../../src/turns/change-turn.js';
import type { BuiltInTool, ToolDeps } from '../tool.js';
import { deliverFile } from './deliver-file.js';
import { memoryTool } from './memory.js';
import { listFiles } from './list-files.js';
import { readFile } from './read-file.js';
import { readSkillFileTool } from './read-skill-file.js';
import { builtInTool } from './turn-tool.js';
import { useSkill } from './use-skill.js';
import { waitTool } from './wait.js';
import type { CommandPlaces } from './workspace/kind.js';
import { workspaceTools } from './workspace/tools.js';

/** The built-in tools of a turn (decisions.md "What the agent has"), in a fixed order: those of skills first, then those of a workspace, `memory` and `wait`. */
export function builtInSource(deps: ToolDeps & TurnDeps, places: CommandPlaces): ToolSource {
  return {
    tools: ({ turn }) => [
      ...builtInTools(turn).map((tool) => builtInTool(deps, tool)),
      ...(turn.workspace === null ? [] : workspaceTools(deps, places, turn.workspace.entry)),
      ...[memoryTool(deps, turn)].filter((tool) => tool !== null),
      ...(turn.toolTypes.includes('wait') ? [waitTool(deps)] : []),
    ],
  };
}

/** Those that use no workspace. */
export function builtInTools({ skills, workspace }: Pick<TurnContext, 'skills' | 'workspace'>): BuiltInTool[] {
  return [
    ...(skills.length > 0 ? [useSkill, readSkillFileTool] : []),
    ...[listFiles, readFile],
    ...(workspace === null ? [deliverFile] : []),
  ];
}
