import { isTerminal, type Event, type RequiredAction } from '../../../client/src/index.js';

type EventOf<Type extends Event['type']> = Extract<Event, { type: Type }>;

export interface ToolCall {
  use: EventOf<'agent.tool_use' | 'agent.custom_tool_use'>;
  /** A person's permission. */
  confirmation: EventOf<'user.tool_confirmation'> | null;
  /** Of a custom tool that the client has answered, the client's own. */
  result: EventOf<'agent.tool_result' | 'user.custom_tool_result'> | null;
  /** What the call waits for. */
  waitsFor: RequiredAction | null;
  turnEnded: boolean;
}

export function toolCallsOf(events: Event[]): Map<string, ToolCall> {
  const calls = new Map<string, ToolCall>();
  const turnEnded = events.some(isTerminal);
  for (const event of events) {
    if (event.type === 'agent.tool_use' || event.type === 'agent.custom_tool_use') {
      calls.set(event.tool_use_id, { use: event, confirmation: null, result: null, waitsFor: null, turnEnded });
    } else if (event.type === 'agent.requires_action') {
      for (const action of event.required_actions) change(calls, action.tool_use_id, { waitsFor: action });
    } else if (event.type === 'user.tool_confirmation') {
      change(calls, event.tool_use_id, { confirmation: event, waitsFor: null });
    } else if (event.type === 'user.custom_tool_result' || event.type === 'agent.tool_result') {
      change(calls, event.tool_use_id, { result: event, waitsFor: null });
    }
  }
  if (turnEnded) for (const id of calls.keys()) change(calls, id, { waitsFor: null });
  return calls;
}

function change(calls: Map<string, ToolCall>, id: string, to: Partial<ToolCall>): void {
  const call = calls.get(id);
  if (call !== undefined) calls.set(id, { ...call, ...to });
}

export function openActions(events: Event[]): RequiredAction[] {
  return [...toolCallsOf(events).values()].flatMap(({ waitsFor }) => waitsFor ?? []);
}
