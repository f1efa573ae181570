import { isTerminal, type Event } from '../../../client/src/index.js';
import type { Turn } from './conversation-log.js';
import { toolCallsOf, type ToolCall } from './tool-calls.js';

/** The events that are a step of their own. A tool call or the state of the turn shows the others, if anything does. */
const STEPS: ReadonlySet<Event['type']> = new Set([
  'user.message',
  'turn.continued',
  'agent.file',
  'agent.mcp_error',
  'agent.context_compacted',
  'agent.model_changed',
]);

/** A part of a turn as it is shown. The key of a text stays the same when its draft becomes a stored event. */
export type TurnItem =
  | { kind: 'thinking'; key: string; content: string; streaming: boolean }
  | { kind: 'text'; key: string; content: string; streaming: boolean; incomplete: boolean }
  | { kind: 'tool'; key: string; call: ToolCall }
  | { kind: 'event'; key: string; event: Event };

/** Changes when what is shown of an item does. Of its stored events none ever changes. */
export function signatureOf(item: TurnItem): string {
  switch (item.kind) {
    case 'thinking':
      return `${item.content.length} ${item.streaming}`;
    case 'text':
      return `${item.content.length} ${item.streaming} ${item.incomplete}`;
    case 'tool': {
      const { result, confirmation, waitsFor, questions, wait, progress, delegated, childAsks, turnEnded } = item.call;
      const asked = questions.map(({ elicitation_id }) => elicitation_id).join();
      const changing = [
        result?.id,
        confirmation?.id,
        waitsFor?.expires_at,
        asked,
        wait?.id,
        progress?.id,
        delegated?.id,
      ];
      return [...changing, childAsks, turnEnded].join(' ');
    }
    case 'event':
      return item.event.id;
  }
}

export function itemsOf(turn: Turn): TurnItem[] {
  const calls = toolCallsOf(turn.events);
  return [...turn.events.flatMap((event) => itemOf(event, calls) ?? []), ...draftItems(turn)];
}

function itemOf(event: Event, calls: Map<string, ToolCall>): TurnItem | null {
  const key = event.id;
  switch (event.type) {
    case 'agent.thinking':
      return { kind: 'thinking', key: thinkingKey(event.message_id), content: event.content, streaming: false };
    case 'agent.message': {
      const { content, incomplete = false } = event;
      return { kind: 'text', key: textKey(event.message_id), content, streaming: false, incomplete };
    }
    case 'agent.tool_use':
    case 'agent.custom_tool_use':
      return { kind: 'tool', key, call: calls.get(event.tool_use_id)! };
    default:
      return STEPS.has(event.type) || isTerminal(event) ? { kind: 'event', key, event } : null;
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
