// Made from the OpenAPI document of the service by `npm run client:generate`. Not to be edited.

import { eachItem, type ItemList } from '../pages.js';
import { segment, Transport, type ClientOptions, type CreateOptions, type RequestOptions } from '../transport.js';
import type {
  Skill,
  PageQuery,
  Page,
  NewMcpServer,
  McpServer,
  McpServerChange,
  AcceptedMcpTools,
  ChangedMcpTool,
  Model,
  NewSession,
  Session,
  SessionQuery,
  SessionChange,
  NewMessage,
  SentMessage,
  TurnContinuedEvent,
  WaitingMessage,
  EventQuery,
  Event,
  Turn,
  UsageQuery,
  UsageGroup,
  File,
  FileQuery,
  DownloadLink,
  NewWebhook,
  WebhookWithSecret,
  Webhook,
  WebhookChange,
  WebhookDelivery,
  WebhookDeliveryQuery,
  RetriedDeliveries,
  NewSchedule,
  Schedule,
  ScheduleChange,
  ScheduleRun,
} from '../types.js';
import { uploadBody, type UploadSource } from '../upload.js';

/** The operations of the Agent Session Service: one method each, in the order of the documentation. */
export class Operations {
  protected readonly transport: Transport;

  constructor(options: ClientOptions) {
    this.transport = new Transport(options);
  }

  /**
   * Upload a skill: a .zip or .skill package, or a single SKILL.md.
   *
   * Stores a package of instructions that messages can select. The name and description come from `SKILL.md`. A skill never changes: to publish a new version, delete the old one and upload again. Needs the permission `skills:write`.
   */
  uploadSkill(source: UploadSource, options: CreateOptions = {}): Promise<Skill> {
    return this.transport.create('/v1/skills', { ...uploadBody(source), ...options });
  }

  /**
   * List skills, newest first.
   *
   * Shows the skills that messages can select. Needs the permission `skills:read`.
   */
  listSkills(query: PageQuery = {}, options: RequestOptions = {}): Promise<Page<Skill>> {
    return this.transport.json('GET', '/v1/skills', { query, ...options });
  }

  /** Every item of `listSkills`, over all its pages. */
  eachSkill(query: PageQuery = {}, options: RequestOptions = {}): ItemList<Skill> {
    return eachItem(query, (page) => this.listSkills(page, options));
  }

  /**
   * Get a skill.
   *
   * Shows one skill without the content of its package. Needs the permission `skills:read`.
   */
  getSkill(skillId: string, options: RequestOptions = {}): Promise<Skill> {
    return this.transport.json('GET', `/v1/skills/${segment(skillId)}`, options);
  }

  /**
   * Delete a skill: later messages cannot select it, and its name is free again.
   *
   * Removes the skill and its package. Events keep what they say about it. A turn that selected it can no longer load it. Needs the permission `skills:write`.
   */
  deleteSkill(skillId: string, options: RequestOptions = {}): Promise<void> {
    return this.transport.noContent('DELETE', `/v1/skills/${segment(skillId)}`, options);
  }

  /**
   * Connect to an MCP server and register it.
   *
   * Connects to the server, lists its tools and stores it, so that sessions can name it in `mcp_servers`. With `auth` of type OAUTH it does not connect yet: a person opens `authorization_url` first. Needs the permission `mcp_servers:write`.
   */
  registerMcpServer(body: NewMcpServer, options: CreateOptions = {}): Promise<McpServer> {
    return this.transport.create('/v1/mcp-servers', { json: body, ...options });
  }

  /**
   * List MCP servers, newest first.
   *
   * Shows the registered MCP servers with their tools. Needs the permission `mcp_servers:read`.
   */
  listMcpServers(query: PageQuery = {}, options: RequestOptions = {}): Promise<Page<McpServer>> {
    return this.transport.json('GET', '/v1/mcp-servers', { query, ...options });
  }

  /** Every item of `listMcpServers`, over all its pages. */
  eachMcpServer(query: PageQuery = {}, options: RequestOptions = {}): ItemList<McpServer> {
    return eachItem(query, (page) => this.listMcpServers(page, options));
  }

  /**
   * Get an MCP server.
   *
   * Shows one MCP server with its tools. `last_connect_error` says why the agent could not use it in the latest turn. Needs the permission `mcp_servers:read`.
   */
  getMcpServer(mcpServerId: string, options: RequestOptions = {}): Promise<McpServer> {
    return this.transport.json('GET', `/v1/mcp-servers/${segment(mcpServerId)}`, options);
  }

  /**
   * Change the name, credential, allowed tools or tool pinning of an MCP server.
   *
   * Changes the fields that the body has. A new `auth` is tried with a connection before it is stored. For another url, delete the server and register it again. Needs the permission `mcp_servers:write`.
   */
  updateMcpServer(mcpServerId: string, body: McpServerChange = {}, options: RequestOptions = {}): Promise<McpServer> {
    return this.transport.json('PATCH', `/v1/mcp-servers/${segment(mcpServerId)}`, { json: body, ...options });
  }

  /**
   * Delete an MCP server; sessions lose its tools from their next turn.
   *
   * Removes the server and its credential. Sessions that name it go on without its tools. Needs the permission `mcp_servers:write`.
   */
  deleteMcpServer(mcpServerId: string, options: RequestOptions = {}): Promise<void> {
    return this.transport.noContent('DELETE', `/v1/mcp-servers/${segment(mcpServerId)}`, options);
  }

  /**
   * Connect to an MCP server again and refresh its tools.
   *
   * Use it after the server has got new tools, or to see whether it answers. Turns list the tools by themselves. Needs the permission `mcp_servers:write`.
   */
  probeMcpServer(mcpServerId: string, options: RequestOptions = {}): Promise<McpServer> {
    return this.transport.json('POST', `/v1/mcp-servers/${segment(mcpServerId)}/probe`, options);
  }

  /**
   * Start the authorization of an MCP server of type OAUTH again.
   *
   * Use it when `authorization_url` has expired, or the server no longer accepts the authorization. A person opens the new address. Needs the permission `mcp_servers:write`.
   */
  authorizeMcpServer(mcpServerId: string, options: RequestOptions = {}): Promise<McpServer> {
    return this.transport.json('POST', `/v1/mcp-servers/${segment(mcpServerId)}/authorize`, options);
  }

  /**
   * Accept changed tools of an MCP server whose tools are pinned.
   *
   * With `pin_tools`, new and changed tools are held back. Read them in `changed_tools`, then accept them here. Needs the permission `mcp_servers:write`.
   */
  acceptMcpTools(mcpServerId: string, body: AcceptedMcpTools = {}, options: RequestOptions = {}): Promise<McpServer> {
    return this.transport.json('POST', `/v1/mcp-servers/${segment(mcpServerId)}/accept-tools`, { json: body, ...options });
  }

  /**
   * Get a changed tool of an MCP server whose tools are pinned, whatever its size.
   *
   * Use it where `changed_tools` shows a schema as null, because it is too large for the list. Needs the permission `mcp_servers:read`.
   */
  getChangedMcpTool(mcpServerId: string, toolName: string, options: RequestOptions = {}): Promise<ChangedMcpTool> {
    return this.transport.json('GET', `/v1/mcp-servers/${segment(mcpServerId)}/changed-tools/${segment(toolName)}`, options);
  }

  /**
   * List the available models.
   *
   * Shows what can be a session’s `model_id`, with context windows and prices. Needs the permission `sessions:read`.
   */
  listModels(query: PageQuery = {}, options: RequestOptions = {}): Promise<Page<Model>> {
    return this.transport.json('GET', '/v1/models', { query, ...options });
  }

  /** Every item of `listModels`, over all its pages. */
  eachModel(query: PageQuery = {}, options: RequestOptions = {}): ItemList<Model> {
    return eachItem(query, (page) => this.listModels(page, options));
  }

  /**
   * Create a session.
   *
   * Begins a conversation. The configuration is checked now and stays; then send messages. Needs the permission `sessions:write`.
   */
  createSession(body: NewSession, options: CreateOptions = {}): Promise<Session> {
    return this.transport.create('/v1/sessions', { json: body, ...options });
  }

  /**
   * List sessions, newest first.
   *
   * Finds conversations: by status, creation time, metadata, or because they wait for an answer. All filters must match. Needs the permission `sessions:read`.
   */
  listSessions(query: SessionQuery = {}, options: RequestOptions = {}): Promise<Page<Session>> {
    return this.transport.json('GET', '/v1/sessions', { query, ...options });
  }

  /** Every item of `listSessions`, over all its pages. */
  eachSession(query: SessionQuery = {}, options: RequestOptions = {}): ItemList<Session> {
    return eachItem(query, (page) => this.listSessions(page, options));
  }

  /**
   * Get a session.
   *
   * Shows the configuration and the current state: status, what the turn waits for, waiting messages and cost. Needs the permission `sessions:read`.
   */
  getSession(sessionId: string, options: RequestOptions = {}): Promise<Session> {
    return this.transport.json('GET', `/v1/sessions/${segment(sessionId)}`, options);
  }

  /**
   * Change a session's metadata and budget.
   *
   * Merges `metadata` and replaces `budget`; other fields of a session do not change. A larger budget lets a turn go on that waits for it. Needs the permission `sessions:write`.
   */
  updateSession(sessionId: string, body: SessionChange = {}, options: RequestOptions = {}): Promise<Session> {
    return this.transport.json('PATCH', `/v1/sessions/${segment(sessionId)}`, { json: body, ...options });
  }

  /**
   * Delete a session and its events permanently.
   *
   * Removes the session, its turns and its events; files stay. Cancel an open turn first. Needs the permission `sessions:write`.
   */
  deleteSession(sessionId: string, options: RequestOptions = {}): Promise<void> {
    return this.transport.noContent('DELETE', `/v1/sessions/${segment(sessionId)}`, options);
  }

  /**
   * Send a message: it starts a turn, or waits while one is open.
   *
   * Starts a turn of the agent and answers at once with the `user.message` event; its `turn_id` names the turn. Follow the turn with the stream, or read it later. While a turn is open, `when_running` decides what happens. Needs the permission `sessions:write`.
   */
  sendMessage(sessionId: string, body: NewMessage, options: CreateOptions = {}): Promise<SentMessage> {
    return this.transport.create(`/v1/sessions/${segment(sessionId)}/messages`, { json: body, ...options });
  }

  /**
   * Cancel the open turn.
   *
   * Ends the open turn: a queued one at once, a running one at its next step, usually within seconds. Without an open turn it changes nothing, so it can be repeated. Needs the permission `sessions:write`.
   */
  cancelTurn(sessionId: string, options: RequestOptions = {}): Promise<Session> {
    return this.transport.json('POST', `/v1/sessions/${segment(sessionId)}/cancel`, options);
  }

  /**
   * Continue a turn that did not complete.
   *
   * Starts a new turn that goes on after the last stored step of the session’s last turn, which failed, was cancelled or reached the budget. The session’s field `continuable` says whether that is possible. Needs the permission `sessions:write`.
   */
  continueTurn(sessionId: string, options: CreateOptions = {}): Promise<TurnContinuedEvent> {
    return this.transport.create(`/v1/sessions/${segment(sessionId)}/continue`, options);
  }

  /**
   * List the waiting messages in order of delivery.
   *
   * Shows the messages that were sent with `when_running` and have not reached the agent yet. Needs the permission `sessions:read`.
   */
  listQueue(sessionId: string, query: PageQuery = {}, options: RequestOptions = {}): Promise<Page<WaitingMessage>> {
    return this.transport.json('GET', `/v1/sessions/${segment(sessionId)}/queue`, { query, ...options });
  }

  /**
   * Start the first message of a held queue.
   *
   * After a turn that did not complete, the waiting messages are held. This starts the first of them; the others follow as usual. Needs the permission `sessions:write`.
   */
  releaseQueue(sessionId: string, options: RequestOptions = {}): Promise<Session> {
    return this.transport.json('POST', `/v1/sessions/${segment(sessionId)}/queue/release`, options);
  }

  /**
   * Withdraw a waiting message.
   *
   * Removes a waiting message before the agent gets it. Needs the permission `sessions:write`.
   */
  withdrawMessage(sessionId: string, eventId: string, options: RequestOptions = {}): Promise<void> {
    return this.transport.noContent('DELETE', `/v1/sessions/${segment(sessionId)}/queue/${segment(eventId)}`, options);
  }

  /**
   * List the events of a session, oldest first unless `order` is `desc`.
   *
   * Reads the history: messages, tool calls, results and ends of turns. Fragments of texts are in the stream only. Needs the permission `sessions:read`.
   */
  listEvents(sessionId: string, query: EventQuery = {}, options: RequestOptions = {}): Promise<Page<Event>> {
    return this.transport.json('GET', `/v1/sessions/${segment(sessionId)}/events`, { query, ...options });
  }

  /** Every item of `listEvents`, over all its pages. */
  eachEvent(sessionId: string, query: EventQuery = {}, options: RequestOptions = {}): ItemList<Event> {
    return eachItem(query, (page) => this.listEvents(sessionId, page, options));
  }

  /**
   * Get a stored event.
   *
   * Shows one event, for example the one that a webhook names. Needs the permission `sessions:read`.
   */
  getEvent(sessionId: string, eventId: string, options: RequestOptions = {}): Promise<Event> {
    return this.transport.json('GET', `/v1/sessions/${segment(sessionId)}/events/${segment(eventId)}`, options);
  }

  /**
   * List the turns of a session, newest first.
   *
   * Shows the runs of the agent in this session with status, usage and last message. Needs the permission `sessions:read`.
   */
  listTurns(sessionId: string, query: PageQuery = {}, options: RequestOptions = {}): Promise<Page<Turn>> {
    return this.transport.json('GET', `/v1/sessions/${segment(sessionId)}/turns`, { query, ...options });
  }

  /** Every item of `listTurns`, over all its pages. */
  eachTurn(sessionId: string, query: PageQuery = {}, options: RequestOptions = {}): ItemList<Turn> {
    return eachItem(query, (page) => this.listTurns(sessionId, page, options));
  }

  /**
   * Get a turn: its status, its outcome and its last message.
   *
   * Shows how a turn ended: use it where you do not follow the stream. Needs the permission `sessions:read`.
   */
  getTurn(sessionId: string, turnId: string, options: RequestOptions = {}): Promise<Turn> {
    return this.transport.json('GET', `/v1/sessions/${segment(sessionId)}/turns/${segment(turnId)}`, options);
  }

  /**
   * Sum up tokens and costs of turns by day, model, session or metadata.
   *
   * Counts the turns that ended in a period. Deleted sessions count too. Needs the permission `sessions:read`.
   */
  listUsage(query: UsageQuery = {}, options: RequestOptions = {}): Promise<Page<UsageGroup>> {
    return this.transport.json('GET', '/v1/usage', { query, ...options });
  }

  /** Every item of `listUsage`, over all its pages. */
  eachUsage(query: UsageQuery = {}, options: RequestOptions = {}): ItemList<UsageGroup> {
    return eachItem(query, (page) => this.listUsage(page, options));
  }

  /**
   * Upload a file.
   *
   * Stores a file that messages can attach: a form with the part `file`, at most 100 MiB. Needs the permission `files:write`.
   */
  uploadFile(source: UploadSource, options: CreateOptions = {}): Promise<File> {
    return this.transport.create('/v1/files', { ...uploadBody(source), ...options });
  }

  /**
   * List files, newest first.
   *
   * Shows uploaded files and files that the agent delivered. Needs the permission `files:read`.
   */
  listFiles(query: FileQuery = {}, options: RequestOptions = {}): Promise<Page<File>> {
    return this.transport.json('GET', '/v1/files', { query, ...options });
  }

  /** Every item of `listFiles`, over all its pages. */
  eachFile(query: FileQuery = {}, options: RequestOptions = {}): ItemList<File> {
    return eachItem(query, (page) => this.listFiles(page, options));
  }

  /**
   * Get a file.
   *
   * Shows name, type and size of a file. Needs the permission `files:read`.
   */
  getFile(fileId: string, options: RequestOptions = {}): Promise<File> {
    return this.transport.json('GET', `/v1/files/${segment(fileId)}`, options);
  }

  /**
   * Delete a file.
   *
   * Removes the file and its content. Events keep what they say about it. Needs the permission `files:write`.
   */
  deleteFile(fileId: string, options: RequestOptions = {}): Promise<void> {
    return this.transport.noContent('DELETE', `/v1/files/${segment(fileId)}`, options);
  }

  /**
   * Get the download link of a file.
   *
   * For browsers, whose scripts cannot read a redirect: the link as JSON. It needs no key. Needs the permission `files:read`.
   */
  getDownloadLink(fileId: string, options: RequestOptions = {}): Promise<DownloadLink> {
    return this.transport.json('GET', `/v1/files/${segment(fileId)}/link`, options);
  }

  /**
   * Create a webhook.
   *
   * Registers an address that gets a signed POST for each event of the given types in the project. At most 10 in a project. Needs the permission `webhooks:write`.
   */
  createWebhook(body: NewWebhook, options: CreateOptions = {}): Promise<WebhookWithSecret> {
    return this.transport.create('/v1/webhooks', { json: body, ...options });
  }

  /**
   * List webhooks, newest first.
   *
   * Shows the registered webhooks, without their secrets. Needs the permission `webhooks:read`.
   */
  listWebhooks(query: PageQuery = {}, options: RequestOptions = {}): Promise<Page<Webhook>> {
    return this.transport.json('GET', '/v1/webhooks', { query, ...options });
  }

  /** Every item of `listWebhooks`, over all its pages. */
  eachWebhook(query: PageQuery = {}, options: RequestOptions = {}): ItemList<Webhook> {
    return eachItem(query, (page) => this.listWebhooks(page, options));
  }

  /**
   * Get a webhook.
   *
   * Shows one webhook without its secret. `disabled_reason` says why the service disabled it. Needs the permission `webhooks:read`.
   */
  getWebhook(webhookId: string, options: RequestOptions = {}): Promise<Webhook> {
    return this.transport.json('GET', `/v1/webhooks/${segment(webhookId)}`, options);
  }

  /**
   * Change the given fields of a webhook.
   *
   * Changes the fields that the body has. Use it to enable a webhook again that was disabled. Needs the permission `webhooks:write`.
   */
  updateWebhook(webhookId: string, body: WebhookChange = {}, options: RequestOptions = {}): Promise<Webhook> {
    return this.transport.json('PATCH', `/v1/webhooks/${segment(webhookId)}`, { json: body, ...options });
  }

  /**
   * Delete a webhook; its pending deliveries are not sent.
   *
   * Removes the webhook and its secret. Needs the permission `webhooks:write`.
   */
  deleteWebhook(webhookId: string, options: RequestOptions = {}): Promise<void> {
    return this.transport.noContent('DELETE', `/v1/webhooks/${segment(webhookId)}`, options);
  }

  /**
   * Replace the secret; for 24 hours the old one also signs.
   *
   * Use it when the secret may be known to others. For 24 hours deliveries have signatures of both secrets, so that receivers can change over. Needs the permission `webhooks:write`.
   */
  rotateWebhookSecret(webhookId: string, options: CreateOptions = {}): Promise<WebhookWithSecret> {
    return this.transport.create(`/v1/webhooks/${segment(webhookId)}/rotate-secret`, options);
  }

  /**
   * Send a webhook.test delivery.
   *
   * Sends a payload of type `webhook.test` to see whether the receiver answers and verifies the signature. Needs the permission `webhooks:write`.
   */
  testWebhook(webhookId: string, options: CreateOptions = {}): Promise<WebhookDelivery> {
    return this.transport.create(`/v1/webhooks/${segment(webhookId)}/test`, options);
  }

  /**
   * List the deliveries of a webhook, newest first; kept for 30 days.
   *
   * Shows what was sent, with each attempt and its result. Needs the permission `webhooks:read`.
   */
  listWebhookDeliveries(webhookId: string, query: WebhookDeliveryQuery = {}, options: RequestOptions = {}): Promise<Page<WebhookDelivery>> {
    return this.transport.json('GET', `/v1/webhooks/${segment(webhookId)}/deliveries`, { query, ...options });
  }

  /** Every item of `listWebhookDeliveries`, over all its pages. */
  eachWebhookDelivery(webhookId: string, query: WebhookDeliveryQuery = {}, options: RequestOptions = {}): ItemList<WebhookDelivery> {
    return eachItem(query, (page) => this.listWebhookDeliveries(webhookId, page, options));
  }

  /**
   * Send a delivery again now, in any state.
   *
   * Sends one delivery again with the same `webhook-id`, also one that was delivered. Needs the permission `webhooks:write`.
   */
  retryWebhookDelivery(webhookId: string, deliveryId: string, options: CreateOptions = {}): Promise<WebhookDelivery> {
    return this.transport.create(`/v1/webhooks/${segment(webhookId)}/deliveries/${segment(deliveryId)}/retry`, options);
  }

  /**
   * Send the failed deliveries of a webhook again.
   *
   * Use it after the receiver was away for long: it sends every failed delivery of the webhook again, oldest first. Needs the permission `webhooks:write`.
   */
  retryFailedWebhookDeliveries(webhookId: string, options: CreateOptions = {}): Promise<RetriedDeliveries> {
    return this.transport.create(`/v1/webhooks/${segment(webhookId)}/retry-failed`, options);
  }

  /**
   * Create a schedule: it sends a message at given times.
   *
   * Sends a message by the clock: to a new session each time, or to the same one. Give either `cron` or `at`. Needs the permission `sessions:write`.
   */
  createSchedule(body: NewSchedule, options: CreateOptions = {}): Promise<Schedule> {
    return this.transport.create('/v1/schedules', { json: body, ...options });
  }

  /**
   * List schedules, newest first.
   *
   * Shows the schedules with their next times and newest runs. Needs the permission `sessions:read`.
   */
  listSchedules(query: PageQuery = {}, options: RequestOptions = {}): Promise<Page<Schedule>> {
    return this.transport.json('GET', '/v1/schedules', { query, ...options });
  }

  /** Every item of `listSchedules`, over all its pages. */
  eachSchedule(query: PageQuery = {}, options: RequestOptions = {}): ItemList<Schedule> {
    return eachItem(query, (page) => this.listSchedules(page, options));
  }

  /**
   * Get a schedule.
   *
   * Shows one schedule with its next times and its newest run. Needs the permission `sessions:read`.
   */
  getSchedule(scheduleId: string, options: RequestOptions = {}): Promise<Schedule> {
    return this.transport.json('GET', `/v1/schedules/${segment(scheduleId)}`, options);
  }

  /**
   * Change the given fields of a schedule.
   *
   * Changes the fields that the body has. A new `cron` or `at` makes an ended schedule active again. The target does not change. Needs the permission `sessions:write`.
   */
  updateSchedule(scheduleId: string, body: ScheduleChange = {}, options: RequestOptions = {}): Promise<Schedule> {
    return this.transport.json('PATCH', `/v1/schedules/${segment(scheduleId)}`, { json: body, ...options });
  }

  /**
   * Delete a schedule; turns that it started continue.
   *
   * Ends the schedule for good. Its sessions and turns stay. Needs the permission `sessions:write`.
   */
  deleteSchedule(scheduleId: string, options: RequestOptions = {}): Promise<void> {
    return this.transport.noContent('DELETE', `/v1/schedules/${segment(scheduleId)}`, options);
  }

  /**
   * Pause a schedule; times during the pause are skipped.
   *
   * Stops the schedule until it is resumed. Needs the permission `sessions:write`.
   */
  pauseSchedule(scheduleId: string, options: CreateOptions = {}): Promise<Schedule> {
    return this.transport.create(`/v1/schedules/${segment(scheduleId)}/pause`, options);
  }

  /**
   * Resume a paused schedule; the count of failed turns starts at 0.
   *
   * Makes a paused schedule active again, from its next time on. Needs the permission `sessions:write`.
   */
  resumeSchedule(scheduleId: string, options: CreateOptions = {}): Promise<Schedule> {
    return this.transport.create(`/v1/schedules/${segment(scheduleId)}/resume`, options);
  }

  /**
   * Run a schedule now, also a paused or ended one; its times do not change.
   *
   * Use it to try a schedule, or to make up for a time that was missed. Needs the permission `sessions:write`.
   */
  runSchedule(scheduleId: string, options: CreateOptions = {}): Promise<Schedule> {
    return this.transport.create(`/v1/schedules/${segment(scheduleId)}/run`, options);
  }

  /**
   * List the runs of a schedule, newest first; kept for 30 days.
   *
   * Shows which times started a turn, and why others were skipped. Needs the permission `sessions:read`.
   */
  listScheduleRuns(scheduleId: string, query: PageQuery = {}, options: RequestOptions = {}): Promise<Page<ScheduleRun>> {
    return this.transport.json('GET', `/v1/schedules/${segment(scheduleId)}/runs`, { query, ...options });
  }

  /** Every item of `listScheduleRuns`, over all its pages. */
  eachScheduleRun(scheduleId: string, query: PageQuery = {}, options: RequestOptions = {}): ItemList<ScheduleRun> {
    return eachItem(query, (page) => this.listScheduleRuns(scheduleId, page, options));
  }
}
