import { Answers, type AnswerOptions } from './answers.js';
import { Operations, segment } from './operations.js';
import { eachItem } from './pages.js';
import { follow, type RunResult } from './run.js';
import { EventStream, type StreamOptions } from './stream.js';
import type { CreateOptions, RequestOptions } from './transport.js';
import type {
  AnswerEvent,
  Confirmation,
  CustomToolResult,
  Event,
  File,
  FileQuery,
  McpServer,
  Model,
  NewMessage,
  PageQuery,
  Session,
  SessionFilter,
  Skill,
  StreamEvent,
  Webhook,
  WebhookDelivery,
} from './types.js';

/** The largest page size of the service. */
const EACH = 100;

export interface RunOptions extends CreateOptions, AnswerOptions {
  /** Called with every event, including deltas. The next event waits for its promise. */
  onEvent?: (event: StreamEvent) => void | Promise<void>;
}

/**
 * The Agent Session Service: one method per operation, and helpers: `stream`, `run`, and `each…`, which iterates over
 * all pages of a list.
 */
export class AgentSessionClient extends Operations {
  eachSkill(options: RequestOptions = {}): AsyncIterable<Skill> {
    return eachItem((cursor) => this.listSkills({ limit: EACH, cursor }, options));
  }

  eachMcpServer(options: RequestOptions = {}): AsyncIterable<McpServer> {
    return eachItem((cursor) => this.listMcpServers({ limit: EACH, cursor }, options));
  }

  eachModel(options: RequestOptions = {}): AsyncIterable<Model> {
    return eachItem((cursor) => this.listModels({ limit: EACH, cursor }, options));
  }

  eachSession(filter: SessionFilter = {}, options: RequestOptions = {}): AsyncIterable<Session> {
    return eachItem((cursor) => this.listSessions({ ...filter, limit: EACH, cursor }, options));
  }

  /** Allows or denies a call that needs a person's decision. */
  async confirm(sessionId: string, confirmation: Confirmation, options: CreateOptions = {}): Promise<AnswerEvent> {
    return (await this.sendAnswers(sessionId, [{ type: 'user.tool_confirmation', ...confirmation }], options))[0]!;
  }

  /** Sends the result of a tool that the client ran. */
  async answer(sessionId: string, result: CustomToolResult, options: CreateOptions = {}): Promise<AnswerEvent> {
    return (await this.sendAnswers(sessionId, [{ type: 'user.custom_tool_result', ...result }], options))[0]!;
  }

  eachEvent(sessionId: string, options: RequestOptions = {}): AsyncIterable<Event> {
    return eachItem((cursor) => this.listEvents(sessionId, { limit: EACH, cursor }, options));
  }

  /** The events of the current turn, from its start to its terminal event (operation `streamEvents`). */
  stream(sessionId: string, options: StreamOptions = {}): EventStream {
    return new EventStream(this.transport, `/v1/sessions/${segment(sessionId)}/events/stream`, options);
  }

  /**
   * Sends a message and waits for the end of its turn. `tools` and `confirm` answer waiting calls. The signal only
   * stops the waiting; use `cancelTurn` to end the turn.
   */
  async run(sessionId: string, message: NewMessage, options: RunOptions = {}): Promise<RunResult> {
    const { onEvent } = options;
    const { turn_id: turnId } = await this.sendMessage(sessionId, message, options);
    const answers = new Answers(options, (answer) =>
      this.sendAnswers(sessionId, [answer], options.signal ? { signal: options.signal } : {}),
    );
    const signal = options.signal ? AbortSignal.any([options.signal, answers.failed]) : answers.failed;
    const history = (): AsyncIterable<Event> => this.eachEvent(sessionId, { signal });
    const take = async (event: StreamEvent): Promise<void> => {
      if (event.turn_id === turnId) answers.take(event);
      await onEvent?.(event);
    };
    const result = await follow(turnId, this.stream(sessionId, { signal }), history, take);
    await answers.finish();
    return result;
  }

  eachFile(filter: Omit<FileQuery, keyof PageQuery> = {}, options: RequestOptions = {}): AsyncIterable<File> {
    return eachItem((cursor) => this.listFiles({ ...filter, limit: EACH, cursor }, options));
  }

  eachWebhook(options: RequestOptions = {}): AsyncIterable<Webhook> {
    return eachItem((cursor) => this.listWebhooks({ limit: EACH, cursor }, options));
  }

  eachWebhookDelivery(webhookId: string, options: RequestOptions = {}): AsyncIterable<WebhookDelivery> {
    return eachItem((cursor) => this.listWebhookDeliveries(webhookId, { limit: EACH, cursor }, options));
  }
}
