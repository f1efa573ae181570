import type { WorkspaceToolset } from '../../../../src/db/entities/sessions.js';
import { NO_ANNOTATIONS, type ToolToAsk } from '../../../../src/mcp/asked-tool.js';
import { permissionOf, type WorkspaceToolName } from '../../../../src/sessions/tools.js';
import type { BuiltInTool, ToolDeps } from '../../tool.js';
import type { TurnTool } from '../../tool-source.js';
import { deliverFileOrPath } from '../deliver-file.js';
import { builtInTool } from '../turn-tool.js';
import { bash } from './bash.js';
import { edit } from './edit.js';
import { workspaceKind, type CommandPlaces } from './kind.js';
import { read } from './read.js';
import { write } from './write.js';

/** For the person who allows a call. */
const TITLES: Record<WorkspaceToolName, string> = {
  bash: 'Run a command',
  read: 'Read a file',
  write: 'Write a file',
  edit: 'Edit a file',
};

/** The tools that may use the workspace. Those of its own ask as its entry says. */
export function workspaceTools(deps: ToolDeps, places: CommandPlaces, entry: WorkspaceToolset): TurnTool[] {
  const own = [bash, read, write, edit].map((tool): TurnTool => ({
    ...builtInTool(deps, tool),
    ...permissionOf(entry, tool.name),
    asked: askedOf(tool),
    isSerial: true,
    kindOf: () => workspaceKind(deps, places, tool),
  }));
  const ofContent = builtInTool(deps, deliverFileOrPath);
  const deliver: TurnTool = {
    ...ofContent,
    isSerial: true,
    kindOf: (input) =>
      input.path === undefined ? ofContent.kindOf(input) : workspaceKind(deps, places, deliverFileOrPath),
  };
  return [deliver, ...own];
}

function askedOf({
  name,
  description,
  inputSchema,
}: Pick<BuiltInTool, 'name' | 'description' | 'inputSchema'>): ToolToAsk {
  const title = TITLES[name as WorkspaceToolName];
  return { title, annotations: NO_ANNOTATIONS, serverId: null, toolName: name, description, inputSchema };
}
