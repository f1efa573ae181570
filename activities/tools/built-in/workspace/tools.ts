import type { WorkspaceToolset } from '../../../../src/db/entities/sessions.js';
import { NO_ANNOTATIONS } from '../../../../src/mcp/asked-tool.js';
import { permissionOf, type WorkspaceToolName } from '../../../../src/sessions/tools.js';
import type { ToolDeps } from '../../tool.js';
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
    asked: {
      title: TITLES[tool.name as WorkspaceToolName],
      annotations: NO_ANNOTATIONS,
      serverId: null,
      toolName: tool.name,
      description: tool.description,
      inputSchema: tool.inputSchema,
    },
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
