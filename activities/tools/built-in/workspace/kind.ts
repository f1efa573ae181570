import { workspaceReruns } from '../../../../src/platform/metrics.js';
import { textResult, type BuiltInTool, type ToolDeps, type ToolResult } from '../../tool.js';
import type { CallRun, ToolKind } from '../../tool-kind.js';
import { builtInKind } from '../kind.js';

/** The places for commands of a worker. */
export interface CommandPlaces {
  within<T>(run: CallRun, work: () => Promise<T>): Promise<T>;
}

/**
 * Built-in tools that run in a sandbox. A call takes a place for commands before it is started. What it changes is stored with its
 * result, so a call that is made again repeats nothing.
 */
export function workspaceKind(deps: ToolDeps, places: CommandPlaces, tool: BuiltInTool): ToolKind {
  return {
    ...builtInKind(deps, tool),
    // A command has its own time limit, and may wait for a place before.
    limitsItself: true,
    within: (run, work) => places.within(run, work),
    beforeRepeat({ attempt }) {
      if (attempt.lostWorkers > 0) workspaceReruns.inc();
    },
    notRepeated: () => nothingKept(tool.name),
  };
}

/** The result of a call in the workspace that has taken several workers down. */
function nothingKept(name: string): ToolResult {
  return textResult(
    `This call of ${name} was started several times, and each time its worker was lost. It is not run again, and nothing of it was kept.`,
    true,
  );
}
