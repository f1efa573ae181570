import {
  AbstractAgent,
  EventType,
  type AgentConfig,
  type BaseEvent,
  type Message,
  type ResumeEntry,
  type RunAgentInput,
} from '@ag-ui/client';
import { Observable } from 'rxjs';
import type { AgentSessionClient } from '../client.js';
import { contentOfDataUrl, nameOf, sendOnce, type Attachment } from '../front-end/new-message.js';
import { keyOf, sendOpenAnswers } from '../front-end/waits.js';
import type { Answer, Event, RequiredAction, Session } from '../types.js';
import { eventsOfRun, finished } from './events.js';
import { messagesOf } from './messages.js';
import { Thread } from './thread.js';

export interface AgentSessionAgentConfig extends AgentConfig {
  client: AgentSessionClient;
  /** The id of the session. */
  threadId: string;
  /**
   * `runAgent` with messages that are cut back, to answer one again or an edited one, forks the session before the turn, and the thread
   * goes on in the copy. Keep the id of `session`: after a reload it is the thread. `token`: with a session token, the first one of the
   * copy; the next ones are asked for by `apiKey({ sessionId })` of the client.
   */
  onFork?: (fork: { threadId: string; session: Session; token?: string }) => void | Promise<void>;
}

/** An agent of AG-UI whose thread is a session. */
export class AgentSessionAgent extends AbstractAgent {
  // Not private by `#`: `clone` of the class above makes objects that have no such fields.
  private thread: Thread;
  private onFork: AgentSessionAgentConfig['onFork'];

  constructor({ client, onFork, ...config }: AgentSessionAgentConfig) {
    super(config);
    this.thread = new Thread(client, config.threadId);
    this.onFork = onFork;
  }

  override run(input: RunAgentInput): Observable<BaseEvent> {
    return observe(input, (signal) => runOf(this.thread, input, this.onFork, signal));
  }

  /** Another page may have answered what this one knows as open: the service says what is. */
  override connectAgent(
    ...given: Parameters<AbstractAgent['connectAgent']>
  ): ReturnType<AbstractAgent['connectAgent']> {
    this.pendingInterrupts = [];
    return super.connectAgent(...given);
  }

  protected override connect(input: RunAgentInput): Observable<BaseEvent> {
    return observe(input, (signal) => connectionOf(this.thread, input, signal));
  }

  /** Cancels the turn. To leave it running, call `detachActiveRun`. If the service cannot be reached, the run goes on. */
  override abortRun(): void {
    this.thread.client.cancelTurn(this.thread.sessionId).catch(() => undefined);
  }

  override clone(): AgentSessionAgent {
    const copy = super.clone() as AgentSessionAgent;
    copy.thread = this.thread.copy();
    copy.onFork = this.onFork;
    return copy;
  }
}

/** Emits the events; an error becomes the end of the run. Who unsubscribes closes the stream and leaves the turn alone. */
function observe(
  { threadId, runId }: RunAgentInput,
  eventsOf: (signal: AbortSignal) => AsyncGenerator<BaseEvent, void>,
): Observable<BaseEvent> {
  return new Observable((subscriber) => {
    const leave = new AbortController();
    const emit = async (): Promise<void> => {
      subscriber.next({ type: EventType.RUN_STARTED, threadId, runId });
      try {
        for await (const event of eventsOf(leave.signal)) {
          if (leave.signal.aborted) return;
          subscriber.next(event);
        }
      } catch (error) {
        if (leave.signal.aborted) return;
        const { message, type } = error as { message: string; type?: string };
        subscriber.next({ type: EventType.RUN_ERROR, message, ...(type !== undefined && { code: type }) });
      }
      subscriber.complete();
    };
    void emit();
    return () => leave.abort();
  });
}

async function* runOf(
  thread: Thread,
  input: RunAgentInput,
  onFork: AgentSessionAgentConfig['onFork'],
  signal: AbortSignal,
): AsyncGenerator<BaseEvent, void> {
  yield* eventsOfThread(thread, input, await turnOf(thread, input, onFork, signal), signal);
}

/** The events of a turn in the session that the thread is in. */
async function* eventsOfThread(
  thread: Thread,
  run: Pick<RunAgentInput, 'threadId' | 'runId' | 'messages'>,
  turnId: string,
  signal: AbortSignal,
): AsyncGenerator<BaseEvent, void> {
  for await (const event of eventsOfRun(thread.client, thread.sessionId, run, turnId, signal)) {
    thread.answer(turnId);
    yield event;
  }
}

/** Sends what the page has to say. Returns the turn that goes on with it. */
async function turnOf(
  thread: Thread,
  input: RunAgentInput,
  onFork: AgentSessionAgentConfig['onFork'],
  signal: AbortSignal,
): Promise<string> {
  const { threadId, messages, resume = [] } = input;
  const results = new Map<string, Extract<Message, { role: 'tool' }>>();
  for (const message of messages.toReversed()) {
    if (message.role !== 'tool') break;
    results.set(message.toolCallId, message);
  }
  if (resume.length > 0 || results.size > 0) {
    const { client, sessionId } = thread;
    await sendOpenAnswers(client, sessionId, (action) => answerTo(action, resume, results), signal);
    const { last_turn_id: turnId } = await client.getSession(sessionId, { signal });
    if (turnId !== null) return turnId;
  }
  const last = messages.at(-1);
  if (last?.role !== 'user') {
    throw new TypeError('The run has nothing to send: add a message of the user, the result of a tool, or `resume`.');
  }
  const fork = await thread.forkAtCut(messages);
  if (fork !== null) await onFork?.({ threadId, ...fork });
  const { client, sessionId } = thread;
  // A message of the history is there already: the page looks for its answer.
  if (fork === null && last.id.startsWith('evt_'))
    return (await client.getEvent(sessionId, last.id, { signal })).turn_id;
  const message = { id: last.id, text: textOf(last.content), attachments: attachmentsOf(last.content) };
  const { turn_id: turnId } = await sendOnce(client, sessionId, message);
  thread.begin(last.id, turnId);
  return turnId;
}

/** The history, then the rest of the open turn. */
async function* connectionOf(
  thread: Thread,
  input: RunAgentInput,
  signal: AbortSignal,
): AsyncGenerator<BaseEvent, void> {
  const { client, sessionId } = thread;
  const { status, last_turn_id: turnId } = await client.getSession(sessionId, { signal });
  const events: Event[] = [];
  for await (const event of client.eachEvent(sessionId, {}, { signal })) events.push(event);
  const messages = messagesOf(events);
  thread.show(events);
  yield { type: EventType.MESSAGES_SNAPSHOT, messages };
  if (status === 'RUNNING') yield* eventsOfThread(thread, { ...input, messages }, turnId!, signal);
  else yield finished(input, { type: 'success' });
}

function answerTo(
  action: RequiredAction,
  resume: ResumeEntry[],
  results: ReadonlyMap<string, Extract<Message, { role: 'tool' }>>,
): Answer | null {
  if (action.type === 'custom_tool_result') {
    const { tool_use_id } = action;
    const result = results.get(tool_use_id);
    if (result === undefined) return null;
    const { content, error } = result;
    const said = textOf(content);
    const isError = error !== undefined;
    return {
      type: 'user.custom_tool_result',
      tool_use_id,
      content: isError && said === '' ? error : said,
      ...(isError && { is_error: true }),
    };
  }
  const entry = resume.find(({ interruptId }) => interruptId === keyOf(action));
  if (entry === undefined) return null;
  const given = entry.status === 'resolved' ? (entry.payload as Payload | undefined) : undefined;
  if (action.type === 'elicitation') {
    const { elicitation_id } = action;
    const { action: chosen = 'cancel', content } = given ?? {};
    return { type: 'user.elicitation_result', elicitation_id, action: chosen, ...(content && { content }) };
  }
  if (action.type !== 'tool_confirmation') return null;
  const { tool_use_id } = action;
  if (given?.approved === true) {
    const { input, remember } = given;
    const more = { ...(input && { input }), ...(remember && { remember }) };
    return { type: 'user.tool_confirmation', tool_use_id, result: 'allow', ...more };
  }
  return { type: 'user.tool_confirmation', tool_use_id, result: 'deny', deny_message: given?.reason ?? null };
}

interface Payload {
  approved?: boolean;
  reason?: string;
  input?: Record<string, unknown>;
  remember?: 'session';
  action?: 'accept' | 'decline' | 'cancel';
  content?: Record<string, unknown>;
}

type Content = Extract<Message, { role: 'user' }>['content'];

function textOf(content: Content): string {
  if (typeof content === 'string') return content;
  return content.flatMap((part) => (part.type === 'text' ? [part.text] : [])).join('\n');
}

function attachmentsOf(content: Content): Attachment[] {
  if (typeof content === 'string') return [];
  const sources = content.flatMap((part) => (part.type === 'text' ? [] : [part.source]));
  return sources.map((source, index) => {
    if (source.type === 'file' && source.provider === 'agent-session') return { fileId: source.value };
    if (source.type === 'data') {
      const content = contentOfDataUrl(`data:${source.mimeType};base64,${source.value}`);
      return { filename: nameOf(source.mimeType, index), content };
    }
    return { filename: nameOf(source.mimeType ?? '', index), content: contentOfDataUrl(source.value) };
  });
}
