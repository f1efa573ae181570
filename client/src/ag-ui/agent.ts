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
import type { Answer, Event, RequiredAction } from '../types.js';
import { eventsOfRun, finished } from './events.js';
import { messagesOf } from './messages.js';

export interface AgentSessionAgentConfig extends AgentConfig {
  client: AgentSessionClient;
  /** The id of the session. */
  threadId: string;
}

/** An agent of AG-UI whose thread is a session. */
export class AgentSessionAgent extends AbstractAgent {
  // Not private by `#`: `clone` of the class above makes objects that have no such fields.
  private client: AgentSessionClient;

  constructor({ client, ...config }: AgentSessionAgentConfig) {
    super(config);
    this.client = client;
  }

  override run(input: RunAgentInput): Observable<BaseEvent> {
    return observe(input, (signal) => runOf(this.client, input, signal));
  }

  /** Another page may have answered what this one knows as open: the service says what is. */
  override connectAgent(
    ...given: Parameters<AbstractAgent['connectAgent']>
  ): ReturnType<AbstractAgent['connectAgent']> {
    this.pendingInterrupts = [];
    return super.connectAgent(...given);
  }

  protected override connect(input: RunAgentInput): Observable<BaseEvent> {
    return observe(input, (signal) => connectionOf(this.client, input, signal));
  }

  /** Cancels the turn. To leave it running, call `detachActiveRun`. If the service cannot be reached, the run goes on. */
  override abortRun(): void {
    this.client.cancelTurn(this.threadId).catch(() => undefined);
  }

  override clone(): AgentSessionAgent {
    const copy = super.clone() as AgentSessionAgent;
    copy.client = this.client;
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
  client: AgentSessionClient,
  input: RunAgentInput,
  signal: AbortSignal,
): AsyncGenerator<BaseEvent, void> {
  yield* eventsOfRun(client, input, await turnOf(client, input, signal), signal);
}

/** Sends what the page has to say. Returns the turn that goes on with it. */
async function turnOf(client: AgentSessionClient, input: RunAgentInput, signal: AbortSignal): Promise<string> {
  const { threadId, messages, resume = [] } = input;
  const results = new Map<string, Extract<Message, { role: 'tool' }>>();
  for (const message of messages.toReversed()) {
    if (message.role !== 'tool') break;
    results.set(message.toolCallId, message);
  }
  if (resume.length > 0 || results.size > 0) {
    await sendOpenAnswers(client, threadId, (action) => answerTo(action, resume, results), signal);
    const { last_turn_id: turnId } = await client.getSession(threadId, { signal });
    if (turnId !== null) return turnId;
  }
  const last = messages.at(-1);
  if (last?.role !== 'user') {
    throw new TypeError('The run has nothing to send: add a message of the user, the result of a tool, or `resume`.');
  }
  // A message of the history is there already: the page looks for its answer.
  if (last.id.startsWith('evt_')) return (await client.getEvent(threadId, last.id, { signal })).turn_id;
  const message = { id: last.id, text: textOf(last.content), attachments: attachmentsOf(last.content) };
  return (await sendOnce(client, threadId, message)).turn_id;
}

/** The history, then the rest of the open turn. */
async function* connectionOf(
  client: AgentSessionClient,
  input: RunAgentInput,
  signal: AbortSignal,
): AsyncGenerator<BaseEvent, void> {
  const { threadId } = input;
  const { status, last_turn_id: turnId } = await client.getSession(threadId, { signal });
  const events: Event[] = [];
  for await (const event of client.eachEvent(threadId, {}, { signal })) events.push(event);
  const messages = messagesOf(events);
  yield { type: EventType.MESSAGES_SNAPSHOT, messages };
  if (status === 'RUNNING') yield* eventsOfRun(client, { ...input, messages }, turnId!, signal);
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
  if (given?.approved === true) return { type: 'user.tool_confirmation', tool_use_id, result: 'allow' };
  return { type: 'user.tool_confirmation', tool_use_id, result: 'deny', deny_message: given?.reason ?? null };
}

interface Payload {
  approved?: boolean;
  reason?: string;
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
