import type { SseFrame, SseReader } from '../../test/support/sse-reader.js';

/**
 * One of the compared systems: the baseline (bench/baseline), the service in one process, in two, or in two with a Postgres that is
 * away, another build of it, LangGraph's library or its server (bench/langgraph).
 */
export interface Side {
  name: 'baseline' | 'service' | 'apart' | 'away' | 'other' | 'langgraph' | 'langgraphServer';
  /** Opens a conversation, with the tool `ping` of an MCP server if asked for. */
  session(withTool?: boolean): Promise<string>;
  /**
   * A turn as a client of the side runs it: `send` and then `stream`, two requests. LangGraph's server streams the answer to the
   * POST that starts a run: there `send` ends with the headers of that answer, and `stream` takes it over.
   */
  send(sessionId: string, content: string): Promise<void>;
  stream(sessionId: string): Promise<SseReader>;
  isDelta(frame: SseFrame): boolean;
  /** The characters of the answer that have come with a frame, and `before` it. */
  charactersAfter(frame: SseFrame, before: number): number;
  /** The last frame of a turn. Without it, a turn ends with its stream. */
  isEnd?(frame: SseFrame): boolean;
  /** CPU seconds used so far by the side's own processes and by the servers that all sides share. */
  cpu(): Record<'service' | 'temporal' | 'postgres', number>;
  /** Resident memory of the side's processes, in KB. */
  memoryKb(): number;
}

/** What is specific to a side: its client and its processes. */
export type StartedSide = Omit<Side, 'cpu' | 'memoryKb'> & { pids: number[]; stop: () => Promise<void> };

/** The frames of all sides but LangGraph's server. */
export const turnFrames = {
  isDelta: ({ event }: SseFrame): boolean => event.startsWith('agent.'),
  charactersAfter: ({ event, data }: SseFrame, before: number): number =>
    event === 'agent.message.delta' ? before + (data as { content: string }).content.length : before,
  isEnd: ({ event }: SseFrame): boolean => event === 'turn.completed',
};
