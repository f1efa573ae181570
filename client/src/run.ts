import { ConnectionError } from './errors.js';
import type { EventStream } from './stream.js';
import { isTerminal, type Event, type StreamEvent, type TerminalEvent, type Usage } from './types.js';

/** The result of a turn. */
export interface RunResult<Output = Record<string, unknown>> {
  turnId: string;
  status: 'completed' | 'cancelled' | 'failed';
  /** The agent's last message; empty if there was none. */
  message: string;
  /** The value that the agent gave, in a turn with `output_schema`; null without one. */
  output: Output | null;
  /** Every stored event of the turn, in order. */
  events: Event[];
  /** Null when the turn never ran. */
  usage: Usage | null;
  /** The terminal event: `stop_reason`, `error`, `timing` and all. */
  end: TerminalEvent;
}

/**
 * @internal Follows a turn to its end. If the stream has moved on to a later turn, the missing events come from
 * `history`, which has those of this turn.
 */
export async function readTurn(
  turnId: string,
  stream: EventStream,
  history: () => AsyncIterable<Event>,
  onEvent: (event: StreamEvent) => void | Promise<void> = () => undefined,
): Promise<RunResult> {
  const events = new Map<string, Event>();
  const take = async (event: StreamEvent): Promise<void> => {
    if ('id' in event) events.set(event.id, event);
    await onEvent(event);
  };
  for await (const event of stream) {
    if (event.turn_id !== turnId) {
      // Another message was sent right after this turn had ended.
      for await (const stored of history()) {
        if (!events.has(stored.id)) await take(stored);
      }
      break;
    }
    await take(event);
  }
  return resultOf(turnId, [...events.values()]);
}

function resultOf(turnId: string, events: Event[]): RunResult {
  const end = events.at(-1);
  if (end === undefined || !isTerminal(end))
    throw new ConnectionError(`the stream ended before the turn ${turnId} did`);
  return {
    turnId,
    status: end.type.slice('turn.'.length) as RunResult['status'],
    message: events.findLast((event) => event.type === 'agent.message')?.content ?? '',
    output: end.type === 'turn.completed' ? (end.output ?? null) : null,
    events,
    usage: end.usage,
    end,
  };
}
