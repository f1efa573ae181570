import type { Tx } from '../../src/db/db.js';
import type { NewEvent } from '../../src/events/schema.js';
import type { ToolDefinition } from '../../src/models/request.js';
import type { ToolToAsk } from '../../src/mcp/asked-tool.js';
import type { ToolPermission } from '../../src/sessions/tools.js';
import type { RequestContext } from '../../src/steps/conversation.js';
import type { CallPermission } from '../../src/steps/step-calls.js';
import type { Turn } from '../../src/turns/turn.js';
import type { DefinitionLimits } from './definition-bytes.js';
import type { ToolKind } from './tool-kind.js';

/** Where tools of a turn come from. All sources are in one list (sources.ts). */
export interface ToolSource {
  /** Gets the tools of a turn ready, before its first model call. An attempt that lost its worker is followed by another one. */
  begin?(turn: BegunTurn, attempt: BeginAttempt): Promise<Beginning>;
  /** The tools of a turn, the same at each of its steps and in the same order: requests stay the same for the prompt cache. */
  tools(context: ToolContext, limits: DefinitionLimits): TurnTool[];
}

/** `agents`: how many agents the tools of the turn name. */
export type BegunTurn = Pick<Turn, 'id' | 'projectId' | 'sessionId'> & { agents: number };

export interface BeginAttempt {
  signal: AbortSignal;
  /** How many earlier attempts lost their workers. */
  lostWorkers: number;
}

/** What `begin` has found. It is stored once, in one transaction with the events. */
export interface Beginning {
  events: NewEvent[];
  store(tx: Tx): Promise<void>;
}

/** What decides which tools a turn has. */
export type ToolContext = Pick<RequestContext, 'turn' | 'customTools' | 'outputSchema'>;

/** A tool that calls of a turn may name. */
export interface TurnTool {
  definition: ToolDefinition;
  /** When the model gets the definition: always, once it has found the tool, or always and after those of all other tools. */
  shown: 'always' | 'found' | 'last';
  /** The answer that each call needs (docs/decisions.md "Person in the loop"). */
  permission: CallPermission;
  /** The groups of which one decides about a call that a person must allow; empty or absent: who may approve decides. */
  approvers?: readonly string[];
  /** A person must allow each call also in a session without `tools`. */
  asksEverywhere?: boolean;
  /** Of a tool whose calls a person allows: what the person is shown, and what an approval may be remembered of. */
  asked?: ToolToAsk;
  /** `permission` and `approvers` of a call with this input, where they are not those of all calls. */
  permissionOf?: (input: Record<string, unknown>) => Pick<ToolPermission, 'permission' | 'approvers'>;
  /** By which an input is checked that a person puts in place of this one, where the tool's schema allows too much. */
  changeSchemaOf?(input: Record<string, unknown>): object;
  /** Calls of such tools in one step run one after another. */
  isSerial: boolean;
  /** Whose definition it is, for people; null for one of the service's own. */
  owner: string | null;
  /** How a call with this input is made; null for a tool that the client runs, or whose call ends the turn. */
  kindOf(input: Record<string, unknown>): ToolKind | null;
}
