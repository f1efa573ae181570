import { EventType, type BaseEvent, type Interrupt, type Message, type RunAgentInput } from '@ag-ui/client';
import type { AgentSessionClient } from '../client.js';
import { Lookahead } from '../front-end/turn-events.js';
import { isOfChild, isStillOpen, keyOf } from '../front-end/waits.js';
import type { Event, RequiredAction, StreamEvent, TerminalEvent } from '../types.js';
import {
  CallParents,
  delegationId,
  delegationOf,
  fileId,
  messagesOf,
  reasoningId,
  resultId,
  shownIn,
  type Shown,
} from './messages.js';

type Run = Pick<RunAgentInput, 'threadId' | 'runId' | 'messages'>;

/**
 * @internal The events of a turn that `run.messages` does not show yet, until it ends or waits for something that the page can answer.
 * The last one ends the run.
 */
export async function* eventsOfRun(
  client: AgentSessionClient,
  sessionId: string,
  run: Run,
  turnId: string,
  signal: AbortSignal,
): AsyncGenerator<BaseEvent, void> {
  const turn = new TurnEvents(run);
  const events = new Lookahead(client, sessionId, turnId, signal);
  try {
    for (let event = await events.next(); event !== null; event = await events.next()) {
      yield* turn.take(event);
      if (event.type !== 'agent.requires_action') continue;
      const { required_actions: actions } = event;
      const others = actions.filter((action) => !isForPage(action));
      if (others.length > 0) yield { type: EventType.CUSTOM, name: 'required_actions', value: others };
      if (others.length === actions.length) continue;
      if (!(await isStillOpen(client, sessionId, event, events, signal))) continue;
      yield finished(run, waitOutcome(actions));
      return;
    }
  } finally {
    events.close();
  }
}

/** @internal */
export function finished({ threadId, runId }: Run, outcome: object, more: object = {}): BaseEvent {
  return { type: EventType.RUN_FINISHED, threadId, runId, outcome, ...more };
}

function isForPage(action: RequiredAction): boolean {
  const { type } = action;
  const canAnswer = type === 'tool_confirmation' || type === 'custom_tool_result' || type === 'elicitation';
  return canAnswer && !isOfChild(action);
}

/** The page runs its tools without asking, and refuses each run while an interrupt is open: so the tools come first. */
function waitOutcome(actions: RequiredAction[]): object {
  const own = actions.filter(isForPage);
  const pendingToolCallIds = own.flatMap((one) => (one.type === 'custom_tool_result' ? [one.tool_use_id] : []));
  if (pendingToolCallIds.length > 0) return { type: 'success', pendingToolCallIds };
  return { type: 'interrupt', interrupts: own.map(interruptOf) };
}

const APPROVAL = {
  type: 'object',
  properties: {
    approved: { type: 'boolean' },
    reason: { type: 'string', maxLength: 1000, description: 'Without approval: why.' },
    input: { type: 'object', description: 'With approval: what the call runs with, in place of its input.' },
    remember: { enum: ['session'], description: 'With approval: later calls of the tool are not asked.' },
  },
  required: ['approved'],
};

function interruptOf(action: RequiredAction): Interrupt {
  const interrupt = { id: keyOf(action), reason: action.type, expiresAt: action.expires_at };
  if (action.type === 'elicitation') {
    const isForm = action.mode === 'form';
    return {
      ...interrupt,
      toolCallId: action.tool_use_id,
      message: action.message,
      responseSchema: {
        type: 'object',
        properties: {
          action: { type: 'string', enum: ['accept', 'decline', 'cancel'] },
          ...(isForm && { content: action.requested_schema }),
        },
        required: ['action'],
      },
      ...(!isForm && { metadata: { url: action.url } }),
    };
  }
  const toolCallId = 'tool_use_id' in action ? action.tool_use_id : '';
  if (action.type === 'tool_confirmation') {
    const { title, annotations } = action;
    return { ...interrupt, toolCallId, responseSchema: APPROVAL, metadata: { title, annotations } };
  }
  return { ...interrupt, toolCallId, responseSchema: APPROVAL };
}

/** Turns the events of one turn into those of AG-UI, without what the input of the run has. */
class TurnEvents {
  readonly #shown: Shown;
  readonly #parents = new CallParents();
  /** What is stored of the turn, for a snapshot. */
  readonly #stored: Event[] = [];
  #text: string | null = null;
  #reasoning: string | null = null;
  /** Thinking ends when text begins, before it is stored. */
  readonly #ended = new Set<string>();
  /** Of the open text and thinking, what was sent. */
  #sent = { text: '', reasoning: '' };
  /** The `message_id` of deltas whose stored event has not come: a model call that may be made again. */
  #unstored: string | null = null;
  #events: BaseEvent[] = [];

  constructor(private readonly run: Run) {
    this.#shown = shownIn(run.messages);
  }

  take(event: StreamEvent): BaseEvent[] {
    this.#events = [];
    this.#take(event);
    if ('id' in event) this.#stored.push(event);
    this.#parents.take(event);
    return this.#events;
  }

  #add(type: EventType, fields: object): void {
    this.#events.push({ type, ...fields });
  }

  #take(event: StreamEvent): void {
    if ('message_id' in event || event.type === 'agent.tool_use' || event.type === 'agent.custom_tool_use') {
      this.#dropUnless('message_id' in event ? event.message_id : null);
    }
    switch (event.type) {
      case 'agent.thinking.delta':
        this.#unstored = event.message_id;
        return this.#think(event.message_id, event.content);
      case 'agent.message.delta':
        this.#unstored = event.message_id;
        return this.#say(event.message_id, event.content);
      case 'agent.thinking':
        this.#unstored = null;
        this.#think(event.message_id, rest(event.content, this.#reasoning === null ? '' : this.#sent.reasoning));
        return this.#endReasoning();
      case 'agent.message':
        this.#unstored = null;
        this.#say(event.message_id, rest(event.content, this.#text === null ? '' : this.#sent.text));
        return this.#endText();
      case 'agent.tool_use':
      case 'agent.custom_tool_use':
        return this.#call(event);
      case 'agent.tool_result':
      case 'user.custom_tool_result': {
        const { tool_use_id: toolCallId, content } = event;
        if (this.#shown.results.has(toolCallId)) return undefined;
        return this.#add(EventType.TOOL_CALL_RESULT, {
          messageId: resultId(toolCallId),
          toolCallId,
          content,
          role: 'tool',
        });
      }
      case 'agent.delegated':
        return this.#add(EventType.ACTIVITY_SNAPSHOT, {
          messageId: delegationId(event),
          activityType: 'agent.delegated',
          content: delegationOf(event),
        });
      case 'agent.file':
        return this.#add(EventType.ACTIVITY_SNAPSHOT, {
          messageId: fileId(event.file),
          activityType: 'agent.file',
          content: event.file,
        });
      case 'turn.completed':
      case 'turn.cancelled':
      case 'turn.failed':
        return this.#end(event);
      default:
        return undefined;
    }
  }

  #think(messageId: string, delta: string): void {
    const id = reasoningId(messageId);
    if (this.#shown.messages.has(id) || this.#ended.has(id)) return;
    if (this.#reasoning === null) {
      this.#reasoning = id;
      this.#sent.reasoning = '';
      this.#add(EventType.REASONING_START, { messageId: id });
      this.#add(EventType.REASONING_MESSAGE_START, { messageId: id, role: 'reasoning' });
    }
    this.#sent.reasoning += delta;
    if (delta !== '') this.#add(EventType.REASONING_MESSAGE_CONTENT, { messageId: id, delta });
  }

  #endReasoning(): void {
    if (this.#reasoning === null) return;
    this.#add(EventType.REASONING_MESSAGE_END, { messageId: this.#reasoning });
    this.#add(EventType.REASONING_END, { messageId: this.#reasoning });
    this.#ended.add(this.#reasoning);
    this.#reasoning = null;
  }

  #say(messageId: string, delta: string): void {
    this.#endReasoning();
    if (this.#shown.messages.has(messageId)) return;
    if (this.#text === null) {
      this.#text = messageId;
      this.#sent.text = '';
      this.#add(EventType.TEXT_MESSAGE_START, { messageId, role: 'assistant' });
    }
    this.#sent.text += delta;
    if (delta !== '') this.#add(EventType.TEXT_MESSAGE_CONTENT, { messageId, delta });
  }

  #endText(): void {
    if (this.#text !== null) this.#add(EventType.TEXT_MESSAGE_END, { messageId: this.#text });
    this.#text = null;
  }

  /** A model call is made again: what it has shown goes. AG-UI forgets a message by a snapshot without it, once it has ended. */
  #dropUnless(messageId: string | null): void {
    if (this.#unstored === null || this.#unstored === messageId) return;
    this.#unstored = null;
    this.#endReasoning();
    this.#endText();
    this.#add(EventType.MESSAGES_SNAPSHOT, { messages: this.#messages() });
  }

  #messages(): Message[] {
    const { messages } = this.run;
    const own = messagesOf(this.#stored).filter((one) => {
      if (one.role === 'user' || one.role === 'activity') return false;
      return one.role === 'tool' ? !this.#shown.results.has(one.toolCallId) : !this.#shown.messages.has(one.id);
    });
    return [...messages, ...own];
  }

  #call(event: Extract<StreamEvent, { type: 'agent.tool_use' | 'agent.custom_tool_use' }>): void {
    this.#endReasoning();
    this.#endText();
    const parentMessageId = this.#parents.of(event);
    const { tool_use_id: toolCallId, name: toolCallName, input } = event;
    if (this.#shown.calls.has(toolCallId)) return;
    this.#add(EventType.TOOL_CALL_START, { toolCallId, toolCallName, parentMessageId });
    this.#add(EventType.TOOL_CALL_ARGS, { toolCallId, delta: JSON.stringify(input) });
    this.#add(EventType.TOOL_CALL_END, { toolCallId });
  }

  #end(event: TerminalEvent): void {
    this.#endReasoning();
    this.#endText();
    const usage = usageOf(event);
    if (event.type === 'turn.failed') {
      this.#add(EventType.RUN_ERROR, { message: event.error.message, code: event.error.type, ...usage });
    } else if (event.type === 'turn.cancelled') this.#events.push(finished(this.run, { type: 'cancelled' }, usage));
    else {
      const { output } = event;
      const result = output === undefined || output === null ? {} : { result: output };
      this.#events.push(finished(this.run, { type: 'success' }, { ...result, ...usage }));
    }
  }
}

/** What the deltas have not sent of a stored text. */
function rest(content: string, sent: string): string {
  return content.startsWith(sent) ? content.slice(sent.length) : '';
}

function usageOf({ usage, usage_details: details }: TerminalEvent): object {
  if (usage === null) return {};
  return {
    usage: [
      {
        inputTokens: usage.input_tokens,
        outputTokens: usage.output_tokens,
        ...(details !== null && {
          cachedInputTokens: details.cache_read_input_tokens,
          cacheWriteInputTokens: details.cache_creation_input_tokens,
        }),
      },
    ],
  };
}
