import type { StopReason, TurnFailureType } from '../turns/states.js';

/** A file as a message or a delivery recorded it. */
export interface FileSnapshot {
  id: string;
  filename: string;
  mime_type: string;
  size_bytes: number;
}

/** A skill as a message recorded it. */
export interface SkillSnapshot {
  id: string;
  name: string;
  description: string;
}

export interface Usage {
  /** All input, cache reads and writes included. */
  input_tokens: number;
  output_tokens: number;
}

export interface UsageDetails {
  cache_read_input_tokens: number;
  cache_creation_input_tokens: number;
  model_calls: number;
}

/** Milliseconds; null for a phase that never happened. `first_token_ms` and `total_ms` count from the message. */
export interface Timing {
  queued_ms: number | null;
  connect_ms: number | null;
  first_token_ms: number | null;
  model_ms: number | null;
  tools_ms: number | null;
  total_ms: number;
}

interface Spent {
  usage: Usage | null;
  usage_details: UsageDetails | null;
  timing: Timing;
}

/** Every stored event's own fields, by type (spec.md "Event", contract.md §3). */
export interface EventData {
  'user.message': { content: string; files: FileSnapshot[]; skills: SkillSnapshot[] };
  'agent.thinking': { message_id: string; content: string };
  'agent.message': { message_id: string; content: string; incomplete?: true };
  'agent.tool_use': { tool_use_id: string; name: string; input: Record<string, unknown> };
  'agent.tool_result': { tool_use_id: string; name: string; is_error: boolean; content: string; truncated?: true };
  'agent.file': { file: FileSnapshot };
  'agent.mcp_error': { mcp_server_id: string; name: string; message: string };
  'agent.context_compacted': { compacted_turns: number };
  'turn.completed': Spent & { stop_reason: StopReason };
  'turn.cancelled': Spent;
  'turn.failed': Spent & { error: { type: TurnFailureType; message: string; retryable: boolean } };
}

export type StoredEventType = keyof EventData;
export type DeltaType = 'agent.message.delta' | 'agent.thinking.delta';
export type TerminalEventType = 'turn.completed' | 'turn.cancelled' | 'turn.failed';

/** An event about to be stored: its type and own fields. */
export type NewEvent = { [T in StoredEventType]: { type: T; data: EventData[T] } }[StoredEventType];

/** Terminal events close a turn and its stream. */
export const TERMINAL_EVENTS: ReadonlySet<string> = new Set<TerminalEventType>([
  'turn.completed',
  'turn.cancelled',
  'turn.failed',
]);
