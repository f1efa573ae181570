import { isTerminal, type Event, type TerminalEvent } from '../../../client/src/index.js';
import type { Turn } from './conversation-log.js';
import { toolCallsOf, type ToolCall } from './tool-calls.js';

type EventOf<Type extends Event['type']> = Extract<Event, { type: Type }>;

/** A part of a turn as it is shown. The key of a text stays the same when its draft becomes a stored event. */
export type TurnItem =
  | { kind: 'user'; key: string; event: EventOf<'user.message'> }
  | { kind: 'continued'; key: string }
  | { kind: 'thinking'; key: string; content: string; streaming: boolean }
  | { kind: 'text'; key: string; content: string; streaming: boolean; incomplete: boolean }
  | { kind: 'tool'; key: string; call: ToolCall }
  | { kind: 'file'; key: string; event: EventOf<'agent.file'> }
  | { kind: 'mcp-error'; key: string; event: EventOf<'agent.mcp_error'> }
  | { kind: 'compacted'; key: string; event: EventOf<'agent.context_compacted'> }
  | { kind: 'model-changed'; key: string; event: EventOf<'agent.model_changed'> }
  | { kind: 'end'; key: string; event: TerminalEvent };

export function itemsOf(turn: Turn): TurnItem[] {
  const calls = toolCallsOf(turn.events);
  return [...turn.events.flatMap((event) => itemOf(event, calls) ?? []), ...draftItems(turn)];
}

function itemOf(event: Event, calls: Map<string, ToolCall>): TurnItem | null {
  const key = event.id;
  switch (event.type) {
    case 'user.message':
      return { kind: 'user', key, event };
    case 'turn.continued':
      return { kind: 'continued', key };
    case 'agent.thinking':
      return { kind: 'thinking', key: thinkingKey(event.message_id), content: event.content, streaming: false };
    case 'agent.message': {
      const { content, incomplete = false } = event;
      return { kind: 'text', key: textKey(event.message_id), content, streaming: false, incomplete };
    }
    case 'agent.tool_use':
    case 'agent.custom_tool_use':
      return { kind: 'tool', key, call: calls.get(event.tool_use_id)! };
    case 'agent.file':
      return { kind: 'file', key, event };
    case 'agent.mcp_error':
      return { kind: 'mcp-error', key, event };
    case 'agent.context_compacted':
      return { kind: 'compacted', key, event };
    case 'agent.model_changed':
      return { kind: 'model-changed', key, event };
    default:
      return isTerminal(event) ? { kind: 'end', key, event } : null;
  }
}

function draftItems({ draft }: Turn): TurnItem[] {
  if (draft === null) return [];
  const { messageId, thinking, text } = draft;
  const items: TurnItem[] = [];
  if (thinking !== '')
    items.push({ kind: 'thinking', key: thinkingKey(messageId), content: thinking, streaming: true });
  if (text !== '') {
    items.push({ kind: 'text', key: textKey(messageId), content: text, streaming: true, incomplete: false });
  }
  return items;
}

function thinkingKey(messageId: string): string {
  return `${messageId}/thinking`;
}

function textKey(messageId: string): string {
  return `${messageId}/text`;
}
