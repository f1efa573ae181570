import { Answers, type AnswerOptions } from './answers.js';
import { deliveredTo } from './delivery.js';
import { Operations } from './generated/operations.js';
import type { OutputOf, OutputSchema } from './output.js';
import { readTurn, type RunResult } from './run.js';
import { EventStream, type SessionStreamOptions, type StreamOptions } from './stream.js';
import { segment, type CreateOptions, type RequestOptions } from './transport.js';
import type {
  Answer,
  AnswerEvent,
  Confirmation,
  CustomToolResult,
  ElicitationResult,
  Event,
  NewMessage,
  StreamEvent,
  UserMessageEvent,
  WaitingMessage,
} from './types.js';

export interface FollowOptions extends RequestOptions, AnswerOptions {
  /**
   * Called with every event, including deltas. The next event waits for its promise, and so do the answers to what the
   * event asks.
   */
  onEvent?: (event: StreamEvent) => void | Promise<void>;
}

export interface RunOptions extends CreateOptions, FollowOptions {}

/**
 * The Agent Session Service: one method per operation, and helpers: `stream`, `follow`, `run`, and `each…`, which iterates over
 * all pages of the list that has its name, with the same filters.
 */
export class AgentSessionClient extends Operations {
  /** Answers waiting calls: all answers are stored, or none. */
  async sendAnswers(sessionId: string, events: Answer[], options: CreateOptions = {}): Promise<AnswerEvent[]> {
    const path = `/v1/sessions/${segment(sessionId)}/events`;
    return (await this.transport.create<{ items: AnswerEvent[] }>(path, { json: { events }, ...options })).items;
  }

  /** @internal The client of a copy that a session token has made: it has the copy's tokens, of which the first one is given. */
  forCopy(sessionId: string, token: string): AgentSessionClient {
    return new AgentSessionClient(this.transport.forCopy(sessionId, token));
  }

  /** The content. Read it with `text()`, `blob()`, or as a stream from `body`. */
  downloadFile(fileId: string, options: RequestOptions = {}): Promise<Response> {
    return this.#download(`/v1/files/${segment(fileId)}/content`, {}, options);
  }

  /** The content of a file of the session's workspace. Read it as that of `downloadFile`. */
  workspaceContent(sessionId: string, path: string, options: RequestOptions = {}): Promise<Response> {
    return this.#download(`/v1/sessions/${segment(sessionId)}/workspace/content`, { path }, options);
  }

  /** The text of a file of a memory: as it is, or as a version of the memory left it. */
  memoryContent(
    memoryId: string,
    path: string,
    { version, ...options }: RequestOptions & { version?: number } = {},
  ): Promise<string> {
    const query = { path, ...(version !== undefined && { version: String(version) }) };
    const address = `/v1/memories/${segment(memoryId)}/content`;
    return this.transport.send('GET', address, { query, ...options }, (response) => response.text());
  }

  /** The content of a file of a skill. Read it as that of `downloadFile`. */
  skillContent(skillId: string, path: string, options: RequestOptions = {}): Promise<Response> {
    return this.#download(`/v1/skills/${segment(skillId)}/content`, { path }, options);
  }

  /** A folder of the session's workspace as ZIP; `/workspace` unless `path` says another. Read it as the content of `downloadFile`. */
  workspaceArchive(sessionId: string, options: RequestOptions & { path?: string } = {}): Promise<Response> {
    const { path, ...rest } = options;
    return this.#download(`/v1/sessions/${segment(sessionId)}/workspace/archive`, { path }, rest);
  }

  #download(path: string, query: object, options: RequestOptions): Promise<Response> {
    return this.transport.send('GET', path, { timeoutMs: 0, query, ...options }, (response) => response);
  }

  /** Allows or denies a call that needs a person's decision. */
  async confirm(sessionId: string, confirmation: Confirmation, options: CreateOptions = {}): Promise<AnswerEvent> {
    return (await this.sendAnswers(sessionId, [{ type: 'user.tool_confirmation', ...confirmation }], options))[0]!;
  }

  /** Sends the result of a tool that the client ran. */
  async answer(sessionId: string, result: CustomToolResult, options: CreateOptions = {}): Promise<AnswerEvent> {
    return (await this.sendAnswers(sessionId, [{ type: 'user.custom_tool_result', ...result }], options))[0]!;
  }

  /** Answers a question that an MCP server asked. */
  async answerElicitation(
    sessionId: string,
    result: ElicitationResult,
    options: CreateOptions = {},
  ): Promise<AnswerEvent> {
    return (await this.sendAnswers(sessionId, [{ type: 'user.elicitation_result', ...result }], options))[0]!;
  }

  /** The events of the current turn, from its start to its terminal event (operation `streamEvents`). */
  stream(sessionId: string, options: StreamOptions = {}): EventStream {
    return new EventStream(this.transport, `/v1/sessions/${segment(sessionId)}/events/stream`, options);
  }

  /**
   * The events of the current turn, and then those of every turn of the session that begins, until the signal or the deletion of the
   * session (operation `streamEvents` with `follow=session`).
   */
  follow(sessionId: string, options: SessionStreamOptions = {}): EventStream {
    const query = new URLSearchParams({
      follow: 'session',
      ...(options.after !== undefined && { after: options.after }),
    });
    return new EventStream(this.transport, `/v1/sessions/${segment(sessionId)}/events/stream?${query}`, options, true);
  }

  /**
   * Sends a message and waits for the end of its turn, as `followMessage` does. `tools`, `confirm` and `elicit` answer what the
   * turn waits for. With `output`, a JSON Schema, the turn ends with a value of it: `output` of the result, null if the agent gave none.
   * The signal only stops the waiting; use `cancelTurn` to end the turn. With an `idempotencyKey` of yours, the same call follows the
   * same turn after a crash of your process: within 24 h no second turn starts.
   */
  run<const Schema extends OutputSchema>(
    sessionId: string,
    message: NewMessage,
    options: RunOptions & { output: Schema },
  ): Promise<RunResult<OutputOf<Schema>>>;
  run(sessionId: string, message: NewMessage, options?: RunOptions): Promise<RunResult>;
  async run(
    sessionId: string,
    message: NewMessage,
    { output, ...options }: RunOptions & { output?: OutputSchema } = {},
  ): Promise<RunResult> {
    const sent = output === undefined ? message : { ...message, output_schema: output };
    return this.followMessage(sessionId, await this.sendMessage(sessionId, sent, options), options);
  }

  /**
   * Waits for the turn that gets this message, and for its end. The message may wait in the queue, or steer the open turn:
   * then calls of that turn are answered too. If the queue is held, it waits until somebody opens it.
   * @throws ApiError `event_not_found` if the message was withdrawn
   */
  async followMessage(
    sessionId: string,
    message: UserMessageEvent | WaitingMessage,
    options: FollowOptions = {},
  ): Promise<RunResult> {
    const { id, turn_id: turnId, state } = message;
    if (state !== 'queued') {
      const result = await this.followTurn(sessionId, turnId, options);
      if (result.events.some((event) => event.id === id)) return result;
    }
    return this.followTurn(sessionId, await deliveredTo(this, sessionId, id, options.signal), options);
  }

  /** Waits for the end of a turn that was started elsewhere, and answers its calls, as `run` does. */
  async followTurn(sessionId: string, turnId: string, options: FollowOptions = {}): Promise<RunResult> {
    const { onEvent } = options;
    const answers = new Answers(options, (answer, childId = sessionId) =>
      this.sendAnswers(childId, [answer], options.signal ? { signal: options.signal } : {}),
    );
    const signal = options.signal ? AbortSignal.any([options.signal, answers.failed]) : answers.failed;
    const history = (): AsyncIterable<Event> => this.eachEvent(sessionId, { turn_id: turnId }, { signal });
    const take = async (event: StreamEvent): Promise<void> => {
      await onEvent?.(event);
      answers.take(event);
    };
    const result = await readTurn(turnId, this.stream(sessionId, { signal }), history, take);
    await answers.finish();
    return result;
  }
}
