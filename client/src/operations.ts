import { Transport, type ClientOptions, type CreateOptions, type RequestOptions } from './transport.js';
import type {
  AcceptedMcpTools,
  Answer,
  AnswerEvent,
  ChangedMcpTool,
  Event,
  EventQuery,
  File,
  FileQuery,
  McpServer,
  McpServerChange,
  Model,
  NewMcpServer,
  NewMessage,
  NewSession,
  NewWebhook,
  Page,
  PageQuery,
  Session,
  SessionChange,
  SessionQuery,
  Skill,
  Turn,
  TurnContinuedEvent,
  UserMessageEvent,
  WaitingMessage,
  Webhook,
  WebhookChange,
  WebhookDelivery,
  WebhookDeliveryQuery,
  WebhookWithSecret,
} from './types.js';
import { randomId, uploadBody, type UploadSource } from './upload.js';

/** The operations of the Agent Session Service: one method each, in the order of the routes. */
export class Operations {
  protected readonly transport: Transport;

  constructor(options: ClientOptions) {
    this.transport = new Transport(options);
  }

  /** A `.zip` or `.skill` package, or a single `SKILL.md`. */
  uploadSkill(source: UploadSource, options: CreateOptions = {}): Promise<Skill> {
    return this.#create('/v1/skills', { ...options, ...uploadBody(source) });
  }

  listSkills(query: PageQuery = {}, options: RequestOptions = {}): Promise<Page<Skill>> {
    return this.#get('/v1/skills', { query, ...options });
  }

  getSkill(skillId: string, options: RequestOptions = {}): Promise<Skill> {
    return this.#get(`/v1/skills/${segment(skillId)}`, options);
  }

  deleteSkill(skillId: string, options: RequestOptions = {}): Promise<void> {
    return this.#delete(`/v1/skills/${segment(skillId)}`, options);
  }

  /** Connects to the server first, which can take a minute. */
  registerMcpServer(server: NewMcpServer, options: CreateOptions = {}): Promise<McpServer> {
    return this.#create('/v1/mcp-servers', { json: server, ...options });
  }

  listMcpServers(query: PageQuery = {}, options: RequestOptions = {}): Promise<Page<McpServer>> {
    return this.#get('/v1/mcp-servers', { query, ...options });
  }

  getMcpServer(mcpServerId: string, options: RequestOptions = {}): Promise<McpServer> {
    return this.#get(`/v1/mcp-servers/${segment(mcpServerId)}`, options);
  }

  updateMcpServer(mcpServerId: string, change: McpServerChange, options: RequestOptions = {}): Promise<McpServer> {
    return this.transport.json('PATCH', `/v1/mcp-servers/${segment(mcpServerId)}`, { json: change, ...options });
  }

  /** Connects to the server and stores its current tools. */
  probeMcpServer(mcpServerId: string, options: RequestOptions = {}): Promise<McpServer> {
    return this.transport.json('POST', `/v1/mcp-servers/${segment(mcpServerId)}/probe`, options);
  }

  /** Starts the authorization of a server of type OAUTH: a person opens `auth.authorization_url` of the response. */
  authorizeMcpServer(mcpServerId: string, options: RequestOptions = {}): Promise<McpServer> {
    return this.transport.json('POST', `/v1/mcp-servers/${segment(mcpServerId)}/authorize`, options);
  }

  /** A changed tool of a server with pinned tools, also one that is too large for `changed_tools`. */
  getChangedMcpTool(mcpServerId: string, name: string, options: RequestOptions = {}): Promise<ChangedMcpTool> {
    return this.#get(`/v1/mcp-servers/${segment(mcpServerId)}/changed-tools/${segment(name)}`, options);
  }

  /**
   * Accepts changed tools of a server with pinned tools: those of `names` or `digests`, or all of them. With the digest of
   * the version that you have read, no other version is accepted.
   */
  acceptMcpTools(mcpServerId: string, tools: AcceptedMcpTools = {}, options: RequestOptions = {}): Promise<McpServer> {
    const path = `/v1/mcp-servers/${segment(mcpServerId)}/accept-tools`;
    return this.transport.json('POST', path, { json: tools, ...options });
  }

  deleteMcpServer(mcpServerId: string, options: RequestOptions = {}): Promise<void> {
    return this.#delete(`/v1/mcp-servers/${segment(mcpServerId)}`, options);
  }

  listModels(query: PageQuery = {}, options: RequestOptions = {}): Promise<Page<Model>> {
    return this.#get('/v1/models', { query, ...options });
  }

  createSession(session: NewSession, options: CreateOptions = {}): Promise<Session> {
    return this.#create('/v1/sessions', { json: session, ...options });
  }

  listSessions(query: SessionQuery = {}, options: RequestOptions = {}): Promise<Page<Session>> {
    return this.#get('/v1/sessions', { query, ...options });
  }

  getSession(sessionId: string, options: RequestOptions = {}): Promise<Session> {
    return this.#get(`/v1/sessions/${segment(sessionId)}`, options);
  }

  /** `metadata` is merged: a value sets its key, null deletes it, absent keys stay. */
  updateSession(sessionId: string, change: SessionChange, options: RequestOptions = {}): Promise<Session> {
    return this.transport.json('PATCH', `/v1/sessions/${segment(sessionId)}`, { json: change, ...options });
  }

  deleteSession(sessionId: string, options: RequestOptions = {}): Promise<void> {
    return this.#delete(`/v1/sessions/${segment(sessionId)}`, options);
  }

  /** Starts a turn and returns as soon as it is queued; `turn_id` of the answer is its id. */
  sendMessage(sessionId: string, message: NewMessage, options: CreateOptions = {}): Promise<UserMessageEvent> {
    return this.#create(`/v1/sessions/${segment(sessionId)}/messages`, { json: message, ...options });
  }

  /** Answers waiting calls: all answers are stored, or none. */
  async sendAnswers(sessionId: string, events: Answer[], options: CreateOptions = {}): Promise<AnswerEvent[]> {
    const path = `/v1/sessions/${segment(sessionId)}/events`;
    return (await this.#create<{ items: AnswerEvent[] }>(path, { json: { events }, ...options })).items;
  }

  /** Cancels the turn in progress, if there is one. */
  cancelTurn(sessionId: string, options: RequestOptions = {}): Promise<Session> {
    return this.transport.json('POST', `/v1/sessions/${segment(sessionId)}/cancel`, options);
  }

  /** Goes on with a turn that failed or was cancelled, after its last stored step. */
  continueTurn(sessionId: string, options: CreateOptions = {}): Promise<TurnContinuedEvent> {
    return this.#create(`/v1/sessions/${segment(sessionId)}/continue`, options);
  }

  /** The messages that wait, in order of delivery. */
  listQueue(sessionId: string, query: PageQuery = {}, options: RequestOptions = {}): Promise<Page<WaitingMessage>> {
    return this.#get(`/v1/sessions/${segment(sessionId)}/queue`, { query, ...options });
  }

  /** Starts the first message of a queue that is held. */
  releaseQueue(sessionId: string, options: RequestOptions = {}): Promise<Session> {
    return this.transport.json('POST', `/v1/sessions/${segment(sessionId)}/queue/release`, options);
  }

  /** Withdraws a message that waits. */
  withdrawMessage(sessionId: string, eventId: string, options: RequestOptions = {}): Promise<void> {
    return this.#delete(`/v1/sessions/${segment(sessionId)}/queue/${segment(eventId)}`, options);
  }

  /** The turns of a session, newest first. */
  listTurns(sessionId: string, query: PageQuery = {}, options: RequestOptions = {}): Promise<Page<Turn>> {
    return this.#get(`/v1/sessions/${segment(sessionId)}/turns`, { query, ...options });
  }

  /** A turn, with its outcome and the agent's last message. */
  getTurn(sessionId: string, turnId: string, options: RequestOptions = {}): Promise<Turn> {
    return this.#get(`/v1/sessions/${segment(sessionId)}/turns/${segment(turnId)}`, options);
  }

  /** Stored events of all turns, oldest first unless `order` is `desc`. */
  listEvents(sessionId: string, query: EventQuery = {}, options: RequestOptions = {}): Promise<Page<Event>> {
    return this.#get(`/v1/sessions/${segment(sessionId)}/events`, { query, ...options });
  }

  getEvent(sessionId: string, eventId: string, options: RequestOptions = {}): Promise<Event> {
    return this.#get(`/v1/sessions/${segment(sessionId)}/events/${segment(eventId)}`, options);
  }

  uploadFile(source: UploadSource, options: CreateOptions = {}): Promise<File> {
    return this.#create('/v1/files', { ...options, ...uploadBody(source) });
  }

  listFiles(query: FileQuery = {}, options: RequestOptions = {}): Promise<Page<File>> {
    return this.#get('/v1/files', { query, ...options });
  }

  getFile(fileId: string, options: RequestOptions = {}): Promise<File> {
    return this.#get(`/v1/files/${segment(fileId)}`, options);
  }

  /** The content. Read it with `text()`, `blob()`, or as a stream from `body`. */
  downloadFile(fileId: string, options: RequestOptions = {}): Promise<Response> {
    const path = `/v1/files/${segment(fileId)}/content`;
    return this.transport.send('GET', path, { timeoutMs: 0, ...options }, (response) => response);
  }

  /** A link to the content for a browser: it works for one hour without a key. */
  getDownloadLink(fileId: string, options: RequestOptions = {}): Promise<{ url: string }> {
    return this.#get(`/v1/files/${segment(fileId)}/link`, options);
  }

  deleteFile(fileId: string, options: RequestOptions = {}): Promise<void> {
    return this.#delete(`/v1/files/${segment(fileId)}`, options);
  }

  /** The response has the `secret`, which is not shown again. */
  createWebhook(webhook: NewWebhook, options: CreateOptions = {}): Promise<WebhookWithSecret> {
    return this.#create('/v1/webhooks', { json: webhook, ...options });
  }

  listWebhooks(query: PageQuery = {}, options: RequestOptions = {}): Promise<Page<Webhook>> {
    return this.#get('/v1/webhooks', { query, ...options });
  }

  getWebhook(webhookId: string, options: RequestOptions = {}): Promise<Webhook> {
    return this.#get(`/v1/webhooks/${segment(webhookId)}`, options);
  }

  updateWebhook(webhookId: string, change: WebhookChange, options: RequestOptions = {}): Promise<Webhook> {
    return this.transport.json('PATCH', `/v1/webhooks/${segment(webhookId)}`, { json: change, ...options });
  }

  deleteWebhook(webhookId: string, options: RequestOptions = {}): Promise<void> {
    return this.#delete(`/v1/webhooks/${segment(webhookId)}`, options);
  }

  /** The response has the new `secret`. For 24 hours the old one also signs. */
  rotateWebhookSecret(webhookId: string, options: CreateOptions = {}): Promise<WebhookWithSecret> {
    return this.#create(`/v1/webhooks/${segment(webhookId)}/rotate-secret`, options);
  }

  /** Sends a `webhook.test` delivery. */
  testWebhook(webhookId: string, options: CreateOptions = {}): Promise<WebhookDelivery> {
    return this.#create(`/v1/webhooks/${segment(webhookId)}/test`, options);
  }

  listWebhookDeliveries(
    webhookId: string,
    query: WebhookDeliveryQuery = {},
    options: RequestOptions = {},
  ): Promise<Page<WebhookDelivery>> {
    return this.#get(`/v1/webhooks/${segment(webhookId)}/deliveries`, { query, ...options });
  }

  /** Sends a delivery again now, in any state. */
  retryWebhookDelivery(webhookId: string, deliveryId: string, options: CreateOptions = {}): Promise<WebhookDelivery> {
    return this.#create(`/v1/webhooks/${segment(webhookId)}/deliveries/${segment(deliveryId)}/retry`, options);
  }

  /** Sends failed deliveries of a webhook again now. At a `count` of 10,000 there may be more: call it again. */
  retryFailedWebhookDeliveries(webhookId: string, options: CreateOptions = {}): Promise<{ count: number }> {
    return this.#create(`/v1/webhooks/${segment(webhookId)}/retry-failed`, options);
  }

  #get<Answer>(path: string, outgoing: RequestOptions & { query?: object }): Promise<Answer> {
    return this.transport.json('GET', path, outgoing);
  }

  /** Sends a POST with an idempotency key, so that retries have the effect only once. */
  #create<Answer>(path: string, outgoing: CreateOptions & { json?: object }): Promise<Answer> {
    return this.transport.json('POST', path, { ...outgoing, idempotencyKey: outgoing.idempotencyKey ?? randomId() });
  }

  #delete(path: string, options: RequestOptions): Promise<void> {
    return this.transport.send('DELETE', path, options, () => undefined);
  }
}

/** `.` and `..` would change the path, and are not ids. */
export function segment(id: string): string {
  if (id === '' || id === '.' || id === '..') throw new TypeError(`"${id}" is not an id`);
  return encodeURIComponent(id);
}
