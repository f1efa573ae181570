import type { TurnState } from '../turn-states.js';

/** What is read of a turn. Functions take a `Pick` of what they need; the columns of a row keep their names in SQL alone. */
export interface TurnFields {
  id: string;
  sessionId: string;
  projectId: string;
  /** Number of the turn in its session, from 1. */
  number: number;
  state: TurnState;
  /** Position of the last stored event. */
  position: number;
  queuedAt: string;
  /** The model that it calls: its own, or the session's. */
  modelId: string;
  /** Number of the session's MCP servers. */
  mcpServers: number;
  /** Number of the agents that its tools name; 0 in a child session, whose agent calls none. */
  agents: number;
  /** Number of the turn whose message it works on: its own, unless it continues another turn. */
  messageNumber: number;
  /** Messages may wait for the turn or behind it. */
  hasWaiting: boolean;
  cancelRequested: boolean;
  /** Milliseconds that the turn has run so far, without the time it waited for answers. */
  runningMs: number;
  /** `traceparent` of the request that queued the turn, if it was traced. */
  trace: string | null;
}
