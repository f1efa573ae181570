import type { ChatTransport, FileUIPart, UIMessage, UIMessageChunk } from 'ai';
import type { AgentSessionClient } from '../client.js';
import { contentOfDataUrl, nameOf, sendOnce, type Attachment } from '../front-end/new-message.js';
import { Lookahead } from '../front-end/turn-events.js';
import { isOfChild, isStillOpen, sendOpenAnswers } from '../front-end/waits.js';
import { SessionClients } from '../front-end/sessions.js';
import { deliveredTo } from '../front-end/delivery.js';
import type { Answer, RequiredAction, Session, WaitingMessage } from '../types.js';
import { shownIn, TurnChunks } from './chunks.js';

export interface AgentSessionTransportOptions {
  client: AgentSessionClient;
  /**
   * `stop()` of the chat cancels the turn. With false it only leaves: for a chat that its component owns, because `useChat` stops
   * that one when the component unmounts. Default: true.
   */
  cancelOnAbort?: boolean;
  /**
   * What happens to a message that is sent while a turn is open. `reject`, the default: an error. `queue`: it begins a turn of its own
   * afterwards. `steer`: the open turn's next model call gets it. While it waits, the message of its answer has the part `data-queued`.
   */
  whenRunning?: 'reject' | 'queue' | 'steer';
  /**
   * `regenerate()` and an edited message fork the session before the turn, and the chat goes on in the copy. Keep the id of `session`:
   * after a reload it is the chat. Without this the page shows the first session again then. `token`: with a session token, the first
   * one of the copy; the next ones are asked for by `apiKey({ sessionId })` of the client.
   */
  onFork?: (fork: { chatId: string; session: Session; token?: string }) => void | Promise<void>;
}

interface SendOptions<Message extends UIMessage> {
  trigger: 'submit-message' | 'regenerate-message';
  chatId: string;
  messageId: string | undefined;
  messages: Message[];
  abortSignal: AbortSignal | undefined;
}

/** A turn that ended this long ago is shown by `resume`: it may have ended while the page was loading. */
const JUST_ENDED_MS = 60_000;
/** How long a new message waits for a turn that is being cancelled. The service ends it within 20 s. */
const CANCEL_TIMEOUT_MS = 25_000;
const MAX_REASON_LENGTH = 1000;

/** Connects `useChat` of the AI SDK to a session: the `id` of the chat is that of the session. */
export class AgentSessionTransport<Message extends UIMessage = UIMessage> implements ChatTransport<Message> {
  /** A resumed stream begins with the first event of the turn. */
  readonly resumeStreamIsReplay = true;
  readonly #clients: SessionClients;
  readonly #whenRunning: AgentSessionTransportOptions['whenRunning'];
  readonly #cancelOnAbort: boolean;
  readonly #onFork: AgentSessionTransportOptions['onFork'];
  /** The turns that messages of this page began. */
  readonly #turns = new Map<string, string>();
  /** The sessions of the turns that this page has followed. Those of messages that were loaded are in the chat's own. */
  readonly #sessionsOfTurns = new Map<string, string>();
  /** The session that a chat goes on in since it was forked. */
  readonly #forks = new Map<string, string>();
  /** Copies of which `onFork` is told when their first message is stored, by chat. */
  readonly #toldLater = new Map<string, Parameters<NonNullable<AgentSessionTransportOptions['onFork']>>[0]>();
  /** Turns that are being cancelled, by session. */
  readonly #cancelling = new Map<string, Promise<unknown>>();

  constructor({ client, cancelOnAbort = true, whenRunning, onFork }: AgentSessionTransportOptions) {
    this.#clients = new SessionClients(client);
    this.#whenRunning = whenRunning;
    this.#cancelOnAbort = cancelOnAbort;
    this.#onFork = onFork;
  }

  /** Cancels the open turn, also while it waits: then the chat has no stream to stop. */
  async cancel(chatId: string): Promise<void> {
    const sessionId = this.#sessionOf(chatId);
    const cancelled = this.#clients.of(sessionId).cancelTurn(sessionId);
    const ended = cancelled
      .then(({ status }) => (status === 'RUNNING' ? this.#untilEnded(sessionId) : undefined))
      .catch(() => undefined)
      .finally(() => this.#cancelling.delete(sessionId));
    this.#cancelling.set(sessionId, ended);
    await cancelled;
  }

  /** Sends a new message, or the answers that the page has given, and streams what follows. */
  async sendMessages(options: SendOptions<Message>): Promise<ReadableStream<UIMessageChunk>> {
    const { trigger, chatId, messageId, messages, abortSignal } = options;
    const target = messages.find(({ id }) => id === messageId) ?? messages.at(-1);
    if (trigger === 'regenerate-message') return this.#regenerate(options);
    if (target?.role === 'assistant') return this.#answer(chatId, target, abortSignal);
    if (target?.role !== 'user') return streamOf([]);
    if (messageId !== undefined) await this.#fork(chatId, await this.#turnOf(chatId, target.id));
    return this.#send(chatId, target, abortSignal);
  }

  /** Streams the open turn from its start; null if there is none, unless the last one has just ended. */
  async reconnectToStream({
    chatId,
    abortSignal,
  }: {
    chatId: string;
    abortSignal?: AbortSignal | undefined;
  }): Promise<ReadableStream<UIMessageChunk> | null> {
    const sessionId = this.#sessionOf(chatId);
    const options = abortSignal === undefined ? {} : { signal: abortSignal };
    const client = this.#clients.of(sessionId);
    const { status, last_turn_id: turnId } = await client.getSession(sessionId, options);
    if (turnId === null) return null;
    if (status !== 'RUNNING') {
      const { ended_at: endedAt } = await client.getTurn(sessionId, turnId, options);
      if (endedAt !== null && Date.now() - Date.parse(endedAt) > JUST_ENDED_MS) return null;
    }
    return this.#stream(chatId, turnId, new TurnChunks(), abortSignal, true);
  }

  #sessionOf(chatId: string): string {
    return this.#forks.get(chatId) ?? chatId;
  }

  async #send(
    chatId: string,
    message: Message,
    signal: AbortSignal | undefined,
  ): Promise<ReadableStream<UIMessageChunk>> {
    const sessionId = this.#sessionOf(chatId);
    await this.#cancelling.get(sessionId);
    const attachments = message.parts.filter(isFile).map(attachmentOf);
    const text = message.parts.flatMap((part) => (part.type === 'text' ? [part.text] : [])).join('\n');
    const client = this.#clients.of(sessionId);
    const sent = sendOnce(client, sessionId, { id: message.id, text, attachments }, this.#whenRunning);
    // Whether an aborted request began a turn is not known: it goes on, and then its turn is cancelled.
    const stored = await unlessAborted(sent, signal, () => {
      if (this.#cancelOnAbort) void sent.then(() => this.cancel(chatId)).catch(() => undefined);
    });
    this.#turns.set(message.id, stored.turn_id);
    const fork = this.#toldLater.get(chatId);
    this.#toldLater.delete(chatId);
    // The message is in the copy by now: a page that goes there shows it.
    if (fork !== undefined) await this.#onFork?.(fork);
    if (stored.state === undefined) return this.#stream(chatId, stored.turn_id, new TurnChunks(), signal, false);
    const waiting = { message: stored as WaitingMessage, pageId: message.id };
    return this.#stream(chatId, stored.turn_id, new TurnChunks(), signal, false, waiting);
  }

  async #answer(
    chatId: string,
    message: Message,
    signal: AbortSignal | undefined,
  ): Promise<ReadableStream<UIMessageChunk>> {
    const parts = new Map(message.parts.flatMap((part) => ('toolCallId' in part ? [[part.toolCallId, part]] : [])));
    const isGiven = [...parts.values()].some(({ state }) => ANSWERED.includes(state));
    if (!isGiven || !message.id.startsWith('turn_')) return streamOf([]);
    const sessionId = this.#sessionOf(chatId);
    await sendOpenAnswers(this.#clients.of(sessionId), sessionId, (action) => answerIn(parts, action), signal);
    return this.#stream(chatId, message.id, new TurnChunks(shownIn(message)), signal, false);
  }

  async #regenerate(options: SendOptions<Message>): Promise<ReadableStream<UIMessageChunk>> {
    const { chatId, messageId, messages, abortSignal } = options;
    const message = messages.findLast(({ role }) => role === 'user');
    if (message === undefined) throw new Error('There is no message to answer again.');
    const turnId = messageId?.startsWith('turn_') === true ? messageId : await this.#turnOf(chatId, message.id);
    await this.#fork(chatId, turnId);
    return this.#send(chatId, message, abortSignal);
  }

  /** The turn of a message that was sent by this page, or that `loadMessages` gave. */
  async #turnOf(chatId: string, messageId: string): Promise<string> {
    const turnId = this.#turns.get(messageId);
    return turnId ?? (await this.#clients.of(chatId).getEvent(chatId, messageId)).turn_id;
  }

  async #fork(chatId: string, turnId: string): Promise<void> {
    // The copy of an older turn, in the session that the chat goes on in, has another id: the session that has the turn is forked.
    const sessionId = this.#sessionsOfTurns.get(turnId) ?? chatId;
    const fork = await this.#clients.fork(sessionId, turnId);
    this.#forks.set(chatId, fork.session.id);
    this.#toldLater.set(chatId, { chatId, ...fork });
  }

  /** The stream of a session ends with its turn. */
  async #untilEnded(sessionId: string): Promise<void> {
    const signal = AbortSignal.timeout(CANCEL_TIMEOUT_MS);
    for await (const event of this.#clients.of(sessionId).stream(sessionId, { signal })) void event;
  }

  /** Streams a turn until it ends, or waits for something that the page can answer. */
  #stream(
    chatId: string,
    turnId: string,
    turn: TurnChunks,
    abortSignal: AbortSignal | undefined,
    isResumed: boolean,
    waiting: Waiting | null = null,
  ): ReadableStream<UIMessageChunk> {
    const leave = new AbortController();
    const sessionId = this.#sessionOf(chatId);
    this.#sessionsOfTurns.set(turnId, sessionId);
    const chunks =
      waiting === null
        ? this.#chunks(sessionId, turnId, turn, leave.signal)
        : this.#chunksOfWaiting(sessionId, waiting, turn, leave.signal);
    let hasBegun = !isResumed;
    let isOver = false;
    const abort = (): void => {
      if (isOver) return;
      isOver = true;
      leave.abort();
      // React's StrictMode mounts twice: the first stream is aborted before it has shown anything.
      if (this.#cancelOnAbort && hasBegun) void this.cancel(chatId).catch(() => undefined);
    };
    const end = (): void => {
      isOver = true;
      abortSignal?.removeEventListener('abort', abort);
    };
    return new ReadableStream<UIMessageChunk>(
      {
        start: (controller) => {
          if (abortSignal?.aborted === true) {
            abort();
            return controller.close();
          }
          abortSignal?.addEventListener('abort', abort, { once: true });
          return undefined;
        },
        async pull(controller) {
          try {
            const { done, value } = await chunks.next();
            if (done !== true) {
              hasBegun = true;
              return controller.enqueue(value);
            }
            end();
            controller.close();
          } catch (error) {
            if (leave.signal.aborted) return controller.close();
            end();
            controller.error(error);
          }
          return undefined;
        },
        cancel() {
          end();
          leave.abort();
        },
      },
      { highWaterMark: 0 },
    );
  }

  /**
   * A message that waits, and then its turn. One that steers is shown by the stream of the turn that gets it, unless it begins a turn of
   * its own in the end.
   */
  async *#chunksOfWaiting(
    sessionId: string,
    { message: { id, turn_id: expected, state, content }, pageId }: Waiting,
    turn: TurnChunks,
    signal: AbortSignal,
  ): AsyncGenerator<UIMessageChunk, void> {
    const client = this.#clients.of(sessionId);
    const messageId = state === 'queued' ? expected : `steering:${id}`;
    yield { type: 'start', messageId };
    yield { type: 'data-queued', id, data: { id, state, content } };
    const turnId = await deliveredTo(client, sessionId, id, signal).catch((error: unknown) => {
      // Somebody has withdrawn it.
      if ((error as { type?: string }).type === 'event_not_found') return null;
      throw error;
    });
    yield { type: 'data-queued', id, data: null };
    if (turnId === null || (state === 'steering' && turnId === expected)) return;
    this.#turns.set(pageId, turnId);
    this.#sessionsOfTurns.set(turnId, sessionId);
    yield* this.#chunks(sessionId, turnId, turn, signal);
  }

  async *#chunks(
    sessionId: string,
    turnId: string,
    turn: TurnChunks,
    signal: AbortSignal,
  ): AsyncGenerator<UIMessageChunk, void> {
    const client = this.#clients.of(sessionId);
    const events = new Lookahead(client, sessionId, turnId, signal);
    try {
      for (;;) {
        const event = await events.next();
        if (event === null) return;
        yield* turn.take(event);
        if (event.type !== 'agent.requires_action' || !event.required_actions.some(isForPage)) continue;
        // The AI SDK sends answers only when no stream is open.
        if (!(await isStillOpen(client, sessionId, event, events, signal))) continue;
        yield { type: 'finish', finishReason: 'tool-calls' };
        return;
      }
    } finally {
      events.close();
    }
  }
}

/** A message that waits, and its id in the page. */
interface Waiting {
  message: WaitingMessage;
  pageId: string;
}

type ToolPart = Extract<UIMessage['parts'][number], { toolCallId: string }>;

const ANSWERED = ['approval-responded', 'output-available', 'output-error'];

function isForPage(action: RequiredAction): boolean {
  const { type } = action;
  return !isOfChild(action) && (type === 'tool_confirmation' || type === 'custom_tool_result');
}

/** The answer that a message of the page has for something that is open. */
function answerIn(parts: ReadonlyMap<string, ToolPart>, action: RequiredAction): Answer | null {
  if (action.type !== 'tool_confirmation' && action.type !== 'custom_tool_result') return null;
  const { tool_use_id } = action;
  const part = parts.get(tool_use_id);
  if (part === undefined) return null;
  if (action.type === 'tool_confirmation') {
    if (part.state !== 'approval-responded') return null;
    const { approved, reason } = part.approval;
    if (approved) return { type: 'user.tool_confirmation', tool_use_id, result: 'allow' };
    const deny_message = reason === undefined ? null : [...reason].slice(0, MAX_REASON_LENGTH).join('');
    return { type: 'user.tool_confirmation', tool_use_id, result: 'deny', deny_message };
  }
  if (part.state === 'output-error') {
    return { type: 'user.custom_tool_result', tool_use_id, content: part.errorText, is_error: true };
  }
  if (part.state !== 'output-available' || part.preliminary === true) return null;
  const content = typeof part.output === 'string' ? part.output : (JSON.stringify(part.output) ?? '');
  return { type: 'user.custom_tool_result', tool_use_id, content };
}

function isFile(part: UIMessage['parts'][number]): part is FileUIPart {
  return part.type === 'file';
}

function attachmentOf({ url, mediaType, filename, providerReference }: FileUIPart, index: number): Attachment {
  const fileId = providerReference?.['agent-session'];
  if (typeof fileId === 'string') return { fileId };
  return { filename: filename ?? nameOf(mediaType, index), content: contentOfDataUrl(url) };
}

function streamOf(chunks: UIMessageChunk[]): ReadableStream<UIMessageChunk> {
  return new ReadableStream({
    start(controller) {
      for (const chunk of chunks) controller.enqueue(chunk);
      controller.close();
    },
  });
}

/** Waits for the work, at most until the abort. @throws the reason of the signal */
async function unlessAborted<T>(work: Promise<T>, signal: AbortSignal | undefined, onAbort: () => void): Promise<T> {
  if (signal === undefined) return work;
  let abort: (() => void) | undefined;
  const aborted = new Promise<never>((_, reject) => {
    abort = () => {
      onAbort();
      reject(signal.reason as Error);
    };
    if (signal.aborted) abort();
    else signal.addEventListener('abort', abort, { once: true });
  });
  try {
    return await Promise.race([work, aborted]);
  } finally {
    signal.removeEventListener('abort', abort!);
  }
}
