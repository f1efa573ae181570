import { MEMORY_COMMANDS, planCommand, type MemoryInput } from '../../../src/memories/commands.js';
import { memoriesOf, type TurnMemory } from '../../../src/memories/entries.js';
import { runInMemory } from '../../../src/memories/run.js';
import { ServiceError } from '../../../src/platform/errors.js';
import { memoryCommands } from '../../../src/platform/metrics.js';
import { NO_ANNOTATIONS, type ToolToAsk } from '../../../src/mcp/asked-tool.js';
import { MEMORY, permissionBy } from '../../../src/sessions/tools.js';
import type { TurnContext } from '../../../src/steps/context.js';
import { textResult, type ToolCall, type ToolDeps, type ToolResult } from '../tool.js';
import type { ToolKind } from '../tool-kind.js';
import type { TurnTool } from '../tool-source.js';
import { misfitOf } from './kind.js';
import { ownTool } from './turn-tool.js';

const path = {
  type: 'string',
  description: 'For view, create, str_replace, insert and delete: a path below /memories.',
};
const text = (description: string): object => ({ type: 'string', description });

const definition = {
  name: MEMORY,
  description:
    'Reads and writes files that are kept between sessions, below /memories. view shows a file with line numbers, or what is in a folder; create makes a new file; str_replace replaces a text that is in the file exactly once; insert adds lines after a line; delete removes a file or folder; rename moves one.',
  inputSchema: {
    type: 'object' as const,
    properties: {
      command: { type: 'string', enum: MEMORY_COMMANDS, description: 'What to do.' },
      path,
      view_range: {
        type: 'array',
        items: { type: 'integer' },
        minItems: 2,
        maxItems: 2,
        description: 'For view: first and last line to show, counted from 1. A last line below 1: to the end.',
      },
      file_text: text('For create: the text of the file.'),
      old_str: text('For str_replace: the text to replace, exactly as it is in the file.'),
      new_str: text('For str_replace: the text to put in its place; without it, the text is removed.'),
      insert_line: {
        type: 'integer',
        minimum: 0,
        description: 'For insert: the line after which to insert; 0: at the begin.',
      },
      insert_text: text('For insert: the lines to add.'),
      old_path: text('For rename: the file or folder.'),
      new_path: text('For rename: where it goes, in the same folder of /memories.'),
    },
    required: ['command'],
    additionalProperties: false as const,
  },
};

const ASKED: ToolToAsk = {
  title: 'Change what is remembered',
  annotations: NO_ANNOTATIONS,
  serverId: null,
  toolName: MEMORY,
  description: definition.description,
  inputSchema: definition.inputSchema,
};

/** The tool `memory` (docs/memory.md), one for all memories of the turn; null in a turn without any. */
export function memoryTool(
  deps: ToolDeps,
  turn: Pick<TurnContext, 'projectId' | 'user' | 'agentId' | 'memories'>,
): TurnTool | null {
  const memories = memoriesOf(turn);
  if (memories.length === 0) return null;
  return {
    ...ownTool(definition, () => memoryKind(deps, memories)),
    permissionOf: (input) => permissionBy(written(memories, input)?.policy),
    changeSchemaOf: (input) => changeSchemaOf(memories, written(memories, input)),
    asked: ASKED,
    // Commands of a step run in their order. They are short, so nothing waits long for them.
    isSerial: true,
  };
}

/** The memory that a command may change; null for one that changes nothing whatever a person says. */
function written(memories: readonly TurnMemory[], input: Record<string, unknown>): TurnMemory | null {
  if (misfitOf(definition, input) !== null || input.command === 'view') return null;
  const planned = planCommand(memories, input as unknown as MemoryInput);
  return 'isError' in planned ? null : (memories.find(({ of }) => of === planned.of) ?? null);
}

/** A changed input stays in memories about which no other people decide than about that of the call. */
function changeSchemaOf(memories: readonly TurnMemory[], of: TurnMemory | null): object {
  const decidersOf = ({ policy }: TurnMemory): string => permissionBy(policy).approvers.toSorted().join(' ');
  const known = new Set(['', ...(of === null ? [] : [decidersOf(of)])]);
  const reached = memories.filter((memory) => known.has(decidersOf(memory)));
  const inThese = { pattern: `^/memories/(${reached.map((memory) => memory.of).join('|')})(/|$)` };
  const { properties } = definition.inputSchema;
  const paths = Object.fromEntries(
    (['path', 'old_path', 'new_path'] as const).map((name) => [name, { ...properties[name], ...inThese }]),
  );
  return { ...definition.inputSchema, properties: { ...properties, ...paths } };
}

/** A command runs in the transaction that stores its result, or not at all: it may be made again as long as it has none. */
function memoryKind(deps: ToolDeps, memories: readonly TurnMemory[]): ToolKind {
  return {
    name: 'memory',
    repeatable: true,
    run: (call) => Promise.resolve(misfitOf(definition, call.input) ?? commandIn(deps, memories, call)),
    notRepeated: () =>
      textResult(
        'This command was started several times, and each time its worker was lost. Nothing was changed.',
        true,
      ),
  };
}

function commandIn({ config }: ToolDeps, memories: readonly TurnMemory[], { turn, input }: ToolCall): ToolResult {
  const command = input as unknown as MemoryInput;
  const by = { session_id: turn.sessionId, turn_id: turn.id, key_id: null };
  let outcome = 'error';
  return {
    ...textResult(''),
    decide: async (tx) => {
      const ran = await runInMemory(tx, memories, command, by, config.maxStoragePerProject);
      outcome = ran.isError ? 'error' : 'ok';
      return { ...textResult(ran.text, ran.isError), ...(ran.made !== null && { shown: { memory: ran.made } }) };
    },
    stored: () => memoryCommands.inc({ command: command.command, outcome }),
    refused: (error) => {
      if (!(error instanceof ServiceError) || error.type !== 'storage_limit_reached') throw error;
      return {
        ...textResult(`${error.message} Nothing was changed.`, true),
        stored: () => memoryCommands.inc({ command: command.command, outcome: 'error' }),
      };
    },
  };
}
