import type { Message } from '@ag-ui/client';
import type { Event } from '../types.js';

/** @internal What the messages of a conversation show already, by the service's ids. */
export interface Shown {
  messages: ReadonlySet<string>;
  calls: ReadonlySet<string>;
  results: ReadonlySet<string>;
}

export function shownIn(messages: readonly Message[]): Shown {
  return {
    messages: new Set(messages.map(({ id }) => id)),
    calls: new Set(
      messages.flatMap((one) => (one.role === 'assistant' ? (one.toolCalls ?? []).map(({ id }) => id) : [])),
    ),
    results: new Set(messages.flatMap((one) => (one.role === 'tool' ? [one.toolCallId] : []))),
  };
}

/** @internal The messages that stored events give, in order. */
export function messagesOf(events: Iterable<Event>): Message[] {
  const messages: Message[] = [];
  const parents = new CallParents();
  for (const event of events) {
    switch (event.type) {
      case 'user.message':
        messages.push({ id: event.id, role: 'user', content: event.content });
        break;
      case 'agent.thinking':
        messages.push({ id: reasoningId(event.message_id), role: 'reasoning', content: event.content });
        break;
      case 'agent.message':
        messages.push({ id: event.message_id, role: 'assistant', content: event.content });
        break;
      case 'agent.tool_use':
      case 'agent.custom_tool_use':
        addCall(messages, parents.of(event), event);
        break;
      case 'agent.tool_result':
      case 'user.custom_tool_result': {
        const { tool_use_id: toolCallId, content } = event;
        messages.push({ id: resultId(toolCallId), role: 'tool', toolCallId, content });
        break;
      }
      case 'agent.delegated':
        messages.push({
          ...{ id: delegationId(event), role: 'activity', activityType: 'agent.delegated' },
          content: delegationOf(event),
        });
        break;
      case 'agent.file':
        messages.push({ id: fileId(event.file), role: 'activity', activityType: 'agent.file', content: event.file });
        break;
      default:
    }
    parents.take(event);
  }
  return messages;
}

function addCall(
  messages: Message[],
  parentId: string,
  { tool_use_id: id, name, input }: { tool_use_id: string; name: string; input: unknown },
): void {
  let parent = messages.find((one) => one.id === parentId);
  if (parent?.role !== 'assistant') {
    parent = { id: parentId, role: 'assistant' };
    messages.push(parent);
  }
  (parent.toolCalls ??= []).push({ id, type: 'function', function: { name, arguments: JSON.stringify(input) } });
}

/** @internal Finds the message that a call belongs to. A step that begins with a call has none: it is known by the result before. */
export class CallParents {
  #parent: string | null = null;

  of({ tool_use_id }: { tool_use_id: string }): string {
    this.#parent ??= `step:${tool_use_id}`;
    return this.#parent;
  }

  take(event: { type: string; message_id?: string }): void {
    if (event.type === 'agent.message') this.#parent = event.message_id!;
    else if (event.type.endsWith('tool_result') || event.type === 'user.message' || event.type.startsWith('turn.')) {
      this.#parent = null;
    }
  }
}

export const reasoningId = (messageId: string): string => `reasoning:${messageId}`;
export const resultId = (toolCallId: string): string => `result:${toolCallId}`;
type Delegated = Extract<Event, { type: 'agent.delegated' }>;

export const delegationId = ({ tool_use_id: id }: Pick<Delegated, 'tool_use_id'>): string => `delegation:${id}`;
/** Where a page finds the turn of the other agent. */
export const delegationOf = (event: Delegated): Record<string, unknown> => ({
  toolCallId: event.tool_use_id,
  agentId: event.agent_id,
  sessionId: event.child_session_id,
  turnId: event.child_turn_id,
});
export const fileId = ({ id }: { id: string }): string => `file:${id}`;
