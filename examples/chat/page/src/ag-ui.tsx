import { useCallback, useEffect, useState, useSyncExternalStore, type ReactNode } from 'react';
import type { Interrupt, Message, RunAgentParameters } from '@ag-ui/client';
import { AgentSessionClient, type File as StoredFile } from '@agent-session-service/client';
import { AgentSessionAgent } from '@agent-session-service/client/ag-ui';
import { tokenOf, type Me } from './back-end.js';
import { Composer } from './composer.js';
import { Markdown } from './markdown.js';
import { Approval, Call, FileLink, messageOf, Note, PickDate, Thinking, type CallState } from './parts.js';
import { Question, type Form } from './question.js';
import { Thread } from './shell.js';

/** An agent of this page. It belongs to no component, as the chats of the other page. */
export class OpenAgent {
  readonly client: AgentSessionClient;
  readonly agent: AgentSessionAgent;
  /** Resolves when the history is shown: a run that begins before would overlap with it. */
  connected: Promise<void> = Promise.resolve();
  error: string | null = null;
  /** Calls that the page has to run. */
  pending: string[] = [];
  #version = 0;
  readonly #listeners = new Set<() => void>();

  constructor(
    service: string,
    readonly id: string,
  ) {
    this.client = new AgentSessionClient({ baseUrl: service, apiKey: tokenOf(id) });
    this.agent = new AgentSessionAgent({ client: this.client, threadId: id });
    this.agent.subscribe({
      onMessagesChanged: () => this.#changed(),
      onRunFailed: ({ error }) => this.#fail(error),
      onRunErrorEvent: ({ event }) => this.#fail(new Error(event.message)),
      onRunFinishedEvent: ({ event }) => {
        const { outcome } = event as { outcome?: { type: string; pendingToolCallIds?: string[] } };
        this.pending = outcome?.pendingToolCallIds ?? [];
        this.#changed();
      },
      onRunFinalized: () => this.#changed(),
    });
  }

  readonly subscribe = (listener: () => void): (() => void) => {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  };
  readonly version = (): number => this.#version;

  #changed(): void {
    this.#version += 1;
    for (const listener of this.#listeners) listener();
  }

  #fail(error: unknown): void {
    this.error = messageOf(error);
    this.#changed();
  }

  /** The history, then the rest of the open turn. */
  connect(): Promise<void> {
    return this.#while(this.agent.connectAgent());
  }

  /** Shows what others do in the session: while no run is open, anything new connects again. */
  async watch(signal: AbortSignal): Promise<void> {
    const { items } = await this.client.listEvents(this.id, { order: 'desc' }, { signal });
    const shown = new Set(this.agent.messages.map(({ id }) => id));
    if (items.every((event) => event.type !== 'agent.message' || shown.has(event.message_id))) {
      const after = items[0]?.id;
      for await (const event of this.client.follow(this.id, { after, signal })) if ('id' in event) break;
    }
    if (!signal.aborted) await this.connect();
  }

  say(text: string, files: StoredFile[] = []): void {
    const content = files.map(({ id, mime_type: mimeType }) => ({
      type: 'document' as const,
      source: { type: 'file' as const, value: id, mimeType, provider: 'agent-session' },
    }));
    this.agent.addMessage({
      id: crypto.randomUUID(),
      role: 'user',
      content: files.length === 0 ? text : [{ type: 'text', text }, ...content],
    });
    this.run();
  }

  giveResult(toolCallId: string, content: string): void {
    this.pending = this.pending.filter((id) => id !== toolCallId);
    this.agent.addMessage({ id: crypto.randomUUID(), role: 'tool', toolCallId, content });
    this.run();
  }

  answer(interruptId: string, payload: object): void {
    this.run({ resume: [{ interruptId, status: 'resolved', payload }] });
  }

  run(parameters: RunAgentParameters = {}): void {
    this.error = null;
    void this.#while(this.agent.runAgent(parameters));
  }

  async #while(run: Promise<unknown>): Promise<void> {
    this.#changed();
    await run.catch((error: unknown) => this.#fail(error));
    this.#changed();
  }
}

const opened = new Map<string, Promise<OpenAgent>>();

export function openAgent(service: string, id: string): Promise<OpenAgent> {
  let opening = opened.get(id);
  if (opening === undefined) {
    const open = new OpenAgent(service, id);
    // The token is asked for first: a chat that is not there is an error of the page.
    opening = open.client.getSession(id).then(() => {
      open.connected = open.connect();
      return open;
    });
    opened.set(id, opening);
    opening.catch(() => opened.delete(id));
  }
  return opening;
}

export function AgUiPage({ me, id, onChange }: { me: Me; id: string; onChange: () => void }): ReactNode {
  const [open, setOpen] = useState<OpenAgent | null>(null);
  const [error, setError] = useState<unknown>(null);
  useEffect(() => {
    openAgent(me.service, id).then(setOpen, setError);
  }, [me.service, id]);
  if (error !== null) {
    return (
      <main className="chat">
        <Note>{messageOf(error)}</Note>
      </main>
    );
  }
  return open === null ? <main className="chat" aria-busy="true" /> : <Opened open={open} onChange={onChange} />;
}

function Opened({ open, onChange }: { open: OpenAgent; onChange: () => void }): ReactNode {
  useSyncExternalStore(open.subscribe, open.version);
  const { agent, client } = open;
  const { isRunning, messages, pendingInterrupts: interrupts } = agent;
  const [failure, setFailure] = useState<unknown>(null);
  const report = useCallback((error: unknown) => setFailure(error), []);
  useEffect(onChange, [onChange, isRunning]);
  useEffect(() => {
    if (isRunning) return undefined;
    const leave = new AbortController();
    open.watch(leave.signal).catch((error: unknown) => {
      if (!leave.signal.aborted) report(error);
    });
    return () => leave.abort();
  }, [open, isRunning, report]);
  const isWaiting = !isRunning && (interrupts.length > 0 || open.pending.length > 0);
  return (
    <main className="chat" data-status={isRunning ? 'streaming' : 'ready'}>
      <Thread>
        {messages.map((message) => (
          <MessageView key={message.id} message={message} open={open} interrupts={interrupts} canAnswer={!isRunning} />
        ))}
        {!isRunning &&
          interrupts
            .filter(({ reason }) => reason === 'elicitation')
            .map((one) => <Elicitation key={one.id} interrupt={one} open={open} />)}
        {isRunning && <p className="working">Working</p>}
        {open.error !== null && <Note>{open.error}</Note>}
        {failure !== null && <Note>{messageOf(failure)}</Note>}
      </Thread>
      <Composer
        client={client}
        isBusy={isRunning || isWaiting}
        onSend={(text, files) => {
          if (!isRunning && !isWaiting) return open.say(text, files);
          const content = { content: text, files: files.map((file) => file.id), when_running: 'queue' as const };
          client.sendMessage(open.id, content).catch(report);
          return undefined;
        }}
        onStop={() => (isRunning ? agent.abortRun() : void client.cancelTurn(open.id).catch(report))}
      />
    </main>
  );
}

interface MessageProps {
  message: Message;
  open: OpenAgent;
  interrupts: readonly Interrupt[];
  canAnswer: boolean;
}

function MessageView({ message, open, interrupts, canAnswer }: MessageProps): ReactNode {
  if (message.role === 'user') {
    return (
      <article className="mine" aria-label="You">
        <p className="bubble">
          {typeof message.content === 'string'
            ? message.content
            : message.content.map((part) => (part.type === 'text' ? part.text : ''))}
        </p>
      </article>
    );
  }
  if (message.role === 'reasoning') return <Thinking text={message.content} isOpen={false} />;
  if (message.role === 'activity') return <FileLink file={message.content as StoredFile} />;
  if (message.role !== 'assistant') return null;
  return (
    <article className="answer" aria-label="Agent">
      {typeof message.content === 'string' && message.content !== '' && <Markdown text={message.content} />}
      {message.toolCalls?.map(({ id, function: { name, arguments: json } }) => {
        const result = open.agent.messages.find((one) => one.role === 'tool' && one.toolCallId === id);
        const interrupt = interrupts.find((one) => one.id === id);
        const isMine = open.pending.includes(id);
        const input = inputOf(json);
        const state: CallState = interrupt !== undefined || isMine ? 'asks' : result === undefined ? 'running' : 'done';
        return (
          <Call key={id} name={name} input={input} output={result?.content} state={state}>
            {interrupt !== undefined && canAnswer && (
              <Approval input={input} about={interrupt.metadata} onAnswer={(decision) => open.answer(id, decision)} />
            )}
            {isMine && canAnswer && name === 'pick_date' && (
              <PickDate
                question={(input.question as string | undefined) ?? 'Which day?'}
                onPick={(date) => open.giveResult(id, JSON.stringify({ date }))}
              />
            )}
          </Call>
        );
      })}
    </article>
  );
}

/** The input of a call comes as text, in parts: until it is complete there is nothing to show. */
function inputOf(json: string): Record<string, unknown> {
  try {
    return JSON.parse(json) as Record<string, unknown>;
  } catch {
    return {};
  }
}

function Elicitation({ interrupt, open }: { interrupt: Interrupt; open: OpenAgent }): ReactNode {
  const { properties } = interrupt.responseSchema as { properties: { content?: Form } };
  const url = interrupt.metadata?.url as unknown;
  return (
    <Question
      message={interrupt.message ?? 'The tool asks you something.'}
      {...(properties.content === undefined ? { url: String(url) } : { form: properties.content })}
      onAnswer={(reply) => open.answer(interrupt.id, reply)}
    />
  );
}
