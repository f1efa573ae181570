import type { FinishReason, UIMessage, UIMessageChunk } from 'ai';
import { isOfChild, keyOf } from '../front-end/waits.js';
import type { RequiredAction, StreamEvent, TerminalEvent } from '../types.js';

/** @internal What a message already shows of its turn. */
export interface Shown {
  /** Ids of the service's messages whose text or thinking is there. */
  texts: ReadonlySet<string>;
  reasonings: ReadonlySet<string>;
  calls: ReadonlyMap<string, { state: string; approved: boolean | undefined }>;
  steering: ReadonlySet<string>;
}

const NOTHING: Shown = { texts: new Set(), reasonings: new Set(), calls: new Map(), steering: new Set() };
const REASONING = 'reasoning:';
const PRELIMINARY = 'preliminary';

/** @internal Parts are recognised by the service's ids, so nothing is shown twice, also after a reload. */
export function shownIn({ parts }: UIMessage): Shown {
  const texts = new Set<string>();
  const reasonings = new Set<string>();
  const calls = new Map<string, { state: string; approved: boolean | undefined }>();
  const steering = new Set<string>();
  for (const part of parts) {
    if (part.type === 'text') texts.add(part.providerMetadata?.agentSession?.messageId as string);
    else if (part.type === 'reasoning') reasonings.add(part.id?.slice(REASONING.length) ?? '');
    else if (part.type === 'steering-message') steering.add(part.id);
    else if ('toolCallId' in part) {
      // A part of a call that has begun a turn of another agent shows that, and its result comes.
      const state = 'preliminary' in part && part.preliminary === true ? PRELIMINARY : part.state;
      calls.set(part.toolCallId, { state, approved: part.approval?.approved });
    }
  }
  return { texts, reasonings, calls, steering };
}

/** A text that is being shown, and what of it has been. */
interface OpenPart {
  messageId: string;
  content: string;
}

type OutputKind = 'text' | 'reasoning';

/** @internal Turns the events of one turn into chunks of a UI message stream, without those that `shown` has. */
export class TurnChunks {
  #isStarted = false;
  /** The `message_id` of the model call whose output comes, or the id of the call that it began with. */
  #step: string | null = null;
  /** A result, or a message that steers, has come since: the next output is of another model call. */
  #isStepOver = true;
  /** The message has a `step-start` of this model call. */
  #isStepShown = false;
  #stepHasCalls = false;
  /** The `message_id` of deltas whose stored event has not come: a model call that may be made again. */
  #unstored: string | null = null;
  readonly #open: Record<OutputKind, OpenPart | null> = { text: null, reasoning: null };
  /** The part that ended last: thinking ends when text begins, before it is stored. */
  readonly #ended: Record<OutputKind, OpenPart | null> = { text: null, reasoning: null };
  readonly #openCalls = new Set<string>();
  readonly #denied = new Set<string>();
  readonly #asked = new Set<string>();
  readonly #otherWaits = new Set<string>();
  #chunks: UIMessageChunk[] = [];

  constructor(private readonly shown: Shown = NOTHING) {}

  take(event: StreamEvent): UIMessageChunk[] {
    this.#chunks = [];
    if (!this.#isStarted) this.#add({ type: 'start', messageId: event.turn_id });
    this.#isStarted = true;
    this.#take(event);
    return this.#chunks;
  }

  #add(...chunks: UIMessageChunk[]): void {
    this.#chunks.push(...chunks);
  }

  #take(event: StreamEvent): void {
    switch (event.type) {
      case 'agent.thinking.delta':
        return this.#delta('reasoning', event.message_id, event.content);
      case 'agent.message.delta':
        return this.#delta('text', event.message_id, event.content);
      case 'agent.thinking':
        return this.#stored('reasoning', event.message_id, event.content);
      case 'agent.message':
        return this.#stored('text', event.message_id, event.content);
      case 'agent.tool_use':
        return this.#call(event, { providerExecuted: true });
      case 'agent.custom_tool_use':
        return this.#call(event, {});
      case 'agent.delegated':
        return this.#delegated(event);
      case 'agent.tool_result':
        if (event.delegation !== undefined) this.#closeWaitsOf(event.delegation.session_id);
        return this.#result(event.tool_use_id, event.content, event.is_error);
      case 'user.custom_tool_result':
        return this.#result(event.tool_use_id, event.content, event.is_error);
      case 'agent.requires_action':
        return this.#wait(event.required_actions);
      case 'user.tool_confirmation':
        if (event.input) this.#add({ type: 'data-changed-input', id: event.tool_use_id, data: event.input });
        return this.#confirmation(event.tool_use_id, event.result === 'allow', event.deny_message);
      case 'user.elicitation_result':
        return this.#closeWait(event.elicitation_id);
      case 'user.message':
        return this.#steering(event);
      case 'agent.file':
        return this.#add({ type: 'data-file', id: event.file.id, data: event.file });
      case 'turn.completed':
      case 'turn.cancelled':
      case 'turn.failed':
        return this.#end(event);
      default:
        // What else there is does not belong into a conversation: the stream of the client has it.
        return undefined;
    }
  }

  /** The output of a model call comes. One that is made again has another id: what its first attempt showed goes. */
  #begin(messageId: string): void {
    if (!this.#isStepOver && this.#step === messageId) return;
    if (this.#unstored !== null) this.#reset();
    else {
      this.#endParts();
      this.#isStepShown = false;
      this.#stepHasCalls = false;
    }
    this.#step = messageId;
    this.#isStepOver = false;
  }

  #reset(): void {
    this.#add({ type: 'reset-step' });
    this.#open.text = null;
    this.#open.reasoning = null;
    this.#unstored = null;
  }

  #showStep(): void {
    if (!this.#isStepShown) this.#add({ type: 'start-step' });
    this.#isStepShown = true;
  }

  #isShown(kind: OutputKind, messageId: string): boolean {
    const isShown = (kind === 'text' ? this.shown.texts : this.shown.reasonings).has(messageId);
    if (isShown) this.#isStepShown = true;
    return isShown;
  }

  #delta(kind: OutputKind, messageId: string, content: string): void {
    this.#begin(messageId);
    if (this.#isShown(kind, messageId)) return;
    this.#unstored = messageId;
    this.#append(kind, messageId, content);
  }

  #append(kind: OutputKind, messageId: string, content: string): void {
    // No event says that thinking has ended: the text begins.
    if (kind === 'text') this.#endPart('reasoning');
    const id = `${kind}:${messageId}`;
    let open = this.#open[kind];
    if (open === null) {
      this.#showStep();
      open = { messageId, content: '' };
      this.#open[kind] = open;
      if (kind === 'reasoning') this.#add({ type: 'reasoning-start', id });
      else this.#add({ type: 'text-start', id, providerMetadata: { agentSession: { messageId } } });
    }
    open.content += content;
    if (content !== '') this.#add({ type: `${kind}-delta`, id, delta: content });
  }

  #stored(kind: OutputKind, messageId: string, content: string): void {
    this.#begin(messageId);
    this.#unstored = null;
    if (this.#isShown(kind, messageId)) return;
    const ended = this.#ended[kind];
    if (ended?.messageId === messageId && ended.content === content) return;
    const had = (this.#open[kind] ?? (ended?.messageId === messageId ? ended : null))?.content ?? '';
    // Deltas that are lost: what is stored counts.
    if (!content.startsWith(had) || (this.#open[kind] === null && had !== '')) this.#reset();
    this.#append(kind, messageId, content.slice(this.#open[kind]?.content.length ?? 0));
    this.#endPart(kind);
  }

  #endPart(kind: OutputKind): void {
    const open = this.#open[kind];
    if (open !== null) this.#add({ type: `${kind}-end`, id: `${kind}:${open.messageId}` });
    this.#ended[kind] = open ?? this.#ended[kind];
    this.#open[kind] = null;
  }

  #endParts(): void {
    this.#endPart('reasoning');
    this.#endPart('text');
  }

  #call(
    { tool_use_id: toolCallId, name, input }: { tool_use_id: string; name: string; input: unknown },
    ran: { providerExecuted?: boolean },
  ): void {
    if (this.#unstored !== null) this.#reset();
    this.#endParts();
    if (this.#isStepOver) this.#begin(toolCallId);
    this.#stepHasCalls = true;
    this.#openCalls.add(toolCallId);
    if (this.shown.calls.has(toolCallId)) {
      this.#isStepShown = true;
      return;
    }
    this.#showStep();
    this.#add({ type: 'tool-input-available', toolCallId, toolName: name, input, dynamic: true, ...ran });
  }

  #result(toolCallId: string, content: string, isError: boolean): void {
    this.#isStepOver = true;
    this.#openCalls.delete(toolCallId);
    this.#closeWait(toolCallId);
    // The page keeps its own result, which may be more than text.
    if (this.shown.calls.get(toolCallId)?.state.startsWith('output-') === true) return;
    if (isError && this.#denied.has(toolCallId)) this.#add({ type: 'tool-output-denied', toolCallId });
    else if (isError) this.#add({ type: 'tool-output-error', toolCallId, errorText: content });
    else this.#add({ type: 'tool-output-available', toolCallId, output: content });
  }

  #wait(actions: RequiredAction[]): void {
    const open = new Set(actions.map(keyOf));
    for (const key of this.#otherWaits) if (!open.has(key)) this.#closeWait(key);
    for (const action of actions) {
      const isOwn = !isOfChild(action);
      if (isOwn && action.type === 'tool_confirmation') this.#askApproval(action.tool_use_id);
      else if (!(isOwn && action.type === 'custom_tool_result') && !this.#otherWaits.has(keyOf(action))) {
        this.#otherWaits.add(keyOf(action));
        this.#add({ type: 'data-required-action', id: keyOf(action), data: action });
      }
    }
  }

  #askApproval(toolCallId: string): void {
    const state = this.shown.calls.get(toolCallId)?.state ?? 'input-available';
    if (this.#asked.has(toolCallId) || state !== 'input-available') return;
    this.#asked.add(toolCallId);
    this.#add({ type: 'tool-approval-request', approvalId: toolCallId, toolCallId });
  }

  /** Until its result comes the part of the call says where a page finds the turn of the other agent. */
  #delegated(event: Extract<StreamEvent, { type: 'agent.delegated' }>): void {
    const { tool_use_id: toolCallId, agent_id: agentId, child_session_id: sessionId, child_turn_id: turnId } = event;
    const state = this.shown.calls.get(toolCallId)?.state ?? '';
    if (state === PRELIMINARY || state.startsWith('output-')) return;
    const output = { agentId, sessionId, turnId };
    this.#add({ type: 'tool-output-available', toolCallId, output, dynamic: true, preliminary: true });
  }

  #closeWaitsOf(childSessionId: string): void {
    for (const key of this.#otherWaits) if (key.startsWith(`${childSessionId}:`)) this.#closeWait(key);
  }

  /** Nothing waits for it any more: the page need not ask. */
  #closeWait(key: string): void {
    if (this.#otherWaits.delete(key)) this.#add({ type: 'data-required-action', id: key, data: null });
  }

  #confirmation(toolCallId: string, approved: boolean, reason: string | null): void {
    if (!approved) this.#denied.add(toolCallId);
    const shown = this.shown.calls.get(toolCallId);
    if (shown?.state.startsWith('output-') === true || shown?.approved === approved) return;
    this.#askApproval(toolCallId);
    this.#add({
      type: 'tool-approval-response',
      approvalId: toolCallId,
      approved,
      ...(reason !== null && { reason }),
    });
  }

  #steering(event: Extract<StreamEvent, { type: 'user.message' }>): void {
    if (event.delivered_at_step === undefined) return;
    this.#endParts();
    this.#isStepOver = true;
    if (this.shown.steering.has(event.id)) return;
    this.#add({ type: 'steering-message', id: event.id, parts: partsOfMessage(event) });
  }

  #end(event: TerminalEvent): void {
    this.#endParts();
    for (const key of this.#otherWaits) this.#closeWait(key);
    for (const toolCallId of this.#openCalls) {
      if (this.shown.calls.get(toolCallId)?.state.startsWith('output-') === true) continue;
      this.#add({ type: 'tool-output-error', toolCallId, errorText: 'The turn ended before this call had a result.' });
    }
    // The last step has no calls then: `sendAutomaticallyWhen` would send their results for ever.
    if (this.#stepHasCalls) this.#add({ type: 'start-step' });
    if (event.type === 'turn.cancelled') this.#add({ type: 'abort' });
    else if (event.type === 'turn.failed') this.#add({ type: 'error', errorText: event.error.message });
    else {
      const { turn_id: turnId, stop_reason: stopReason, usage, output } = event;
      if (output !== undefined && output !== null) this.#add({ type: 'data-output', id: 'output', data: output });
      const messageMetadata = { turnId, stopReason, usage };
      this.#add({ type: 'finish', finishReason: FINISH_REASONS[stopReason] ?? 'other', messageMetadata });
    }
  }
}

const FINISH_REASONS: Partial<Record<string, FinishReason>> = {
  end_turn: 'stop',
  max_output_tokens: 'length',
  refusal: 'content-filter',
};

type MessageParts = Extract<UIMessageChunk, { type: 'steering-message' }>['parts'];

/** @internal The parts of a message that a person sent. */
export function partsOfMessage({
  content,
  files,
}: Pick<Extract<StreamEvent, { type: 'user.message' }>, 'content' | 'files'>): MessageParts {
  return [
    ...files.map(({ id, filename, mime_type: mediaType }) => ({
      type: 'file' as const,
      mediaType,
      filename,
      url: `agent-session:${id}`,
      providerReference: { 'agent-session': id },
    })),
    { type: 'text', text: content },
  ];
}
