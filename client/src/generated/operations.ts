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
  UserMessageEvent,
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

  /** Upload a skill: a .zip or .skill package, or a single SKILL.md. */
  uploadSkill(source: UploadSource, options: CreateOptions = {}): Promise<Skill> {
    return this.transport.create('/v1/skills', { ...uploadBody(source), ...options });
  }

  /** List skills, newest first. */
  listSkills(query: PageQuery = {}, options: RequestOptions = {}): Promise<Page<Skill>> {
    return this.transport.json('GET', '/v1/skills', { query, ...options });
  }

  /** Every item of `listSkills`, over all its pages. */
  eachSkill(query: PageQuery = {}, options: RequestOptions = {}): ItemList<Skill> {
    return eachItem(query, (page) => this.listSkills(page, options));
  }

  /** Get a skill. */
  getSkill(skillId: string, options: RequestOptions = {}): Promise<Skill> {
    return this.transport.json('GET', `/v1/skills/${segment(skillId)}`, options);
  }

  /** Delete a skill: later messages cannot select it, and its name is free again. */
  deleteSkill(skillId: string, options: RequestOptions = {}): Promise<void> {
    return this.transport.noContent('DELETE', `/v1/skills/${segment(skillId)}`, options);
  }

  /** Connect to an MCP server and register it. */
  registerMcpServer(body: NewMcpServer, options: CreateOptions = {}): Promise<McpServer> {
    return this.transport.create('/v1/mcp-servers', { json: body, ...options });
  }

  /** List MCP servers, newest first. */
  listMcpServers(query: PageQuery = {}, options: RequestOptions = {}): Promise<Page<McpServer>> {
    return this.transport.json('GET', '/v1/mcp-servers', { query, ...options });
  }

  /** Every item of `listMcpServers`, over all its pages. */
  eachMcpServer(query: PageQuery = {}, options: RequestOptions = {}): ItemList<McpServer> {
    return eachItem(query, (page) => this.listMcpServers(page, options));
  }

  /** Get an MCP server. */
  getMcpServer(mcpServerId: string, options: RequestOptions = {}): Promise<McpServer> {
    return this.transport.json('GET', `/v1/mcp-servers/${segment(mcpServerId)}`, options);
  }

  /** Change the name, credential, allowed tools or tool pinning of an MCP server. */
  updateMcpServer(mcpServerId: string, body: McpServerChange = {}, options: RequestOptions = {}): Promise<McpServer> {
    return this.transport.json('PATCH', `/v1/mcp-servers/${segment(mcpServerId)}`, { json: body, ...options });
  }

  /** Delete an MCP server; sessions lose its tools from their next turn. */
  deleteMcpServer(mcpServerId: string, options: RequestOptions = {}): Promise<void> {
    return this.transport.noContent('DELETE', `/v1/mcp-servers/${segment(mcpServerId)}`, options);
  }

  /** Connect to an MCP server again and refresh its tools. */
  probeMcpServer(mcpServerId: string, options: RequestOptions = {}): Promise<McpServer> {
    return this.transport.json('POST', `/v1/mcp-servers/${segment(mcpServerId)}/probe`, options);
  }

  /** Start the authorization of an MCP server of type OAUTH again. */
  authorizeMcpServer(mcpServerId: string, options: RequestOptions = {}): Promise<McpServer> {
    return this.transport.json('POST', `/v1/mcp-servers/${segment(mcpServerId)}/authorize`, options);
  }

  /** Accept changed tools of an MCP server whose tools are pinned. */
  acceptMcpTools(mcpServerId: string, body: AcceptedMcpTools = {}, options: RequestOptions = {}): Promise<McpServer> {
    return this.transport.json('POST', `/v1/mcp-servers/${segment(mcpServerId)}/accept-tools`, { json: body, ...options });
  }

  /** Get a changed tool of an MCP server whose tools are pinned, whatever its size. */
  getChangedMcpTool(mcpServerId: string, toolName: string, options: RequestOptions = {}): Promise<ChangedMcpTool> {
    return this.transport.json('GET', `/v1/mcp-servers/${segment(mcpServerId)}/changed-tools/${segment(toolName)}`, options);
  }

  /** List the available models. */
  listModels(query: PageQuery = {}, options: RequestOptions = {}): Promise<Page<Model>> {
    return this.transport.json('GET', '/v1/models', { query, ...options });
  }

  /** Every item of `listModels`, over all its pages. */
  eachModel(query: PageQuery = {}, options: RequestOptions = {}): ItemList<Model> {
    return eachItem(query, (page) => this.listModels(page, options));
  }

  /** Create a session. */
  createSession(body: NewSession, options: CreateOptions = {}): Promise<Session> {
    return this.transport.create('/v1/sessions', { json: body, ...options });
  }

  /** List sessions, newest first. */
  listSessions(query: SessionQuery = {}, options: RequestOptions = {}): Promise<Page<Session>> {
    return this.transport.json('GET', '/v1/sessions', { query, ...options });
  }

  /** Every item of `listSessions`, over all its pages. */
  eachSession(query: SessionQuery = {}, options: RequestOptions = {}): ItemList<Session> {
    return eachItem(query, (page) => this.listSessions(page, options));
  }

  /** Get a session. */
  getSession(sessionId: string, options: RequestOptions = {}): Promise<Session> {
    return this.transport.json('GET', `/v1/sessions/${segment(sessionId)}`, options);
  }

  /** Change a session's metadata and budget. */
  updateSession(sessionId: string, body: SessionChange = {}, options: RequestOptions = {}): Promise<Session> {
    return this.transport.json('PATCH', `/v1/sessions/${segment(sessionId)}`, { json: body, ...options });
  }

  /** Delete a session and its events permanently. */
  deleteSession(sessionId: string, options: RequestOptions = {}): Promise<void> {
    return this.transport.noContent('DELETE', `/v1/sessions/${segment(sessionId)}`, options);
  }

  /** Send a message: it starts a turn, or waits while one is open. */
  sendMessage(sessionId: string, body: NewMessage, options: CreateOptions = {}): Promise<UserMessageEvent> {
    return this.transport.create(`/v1/sessions/${segment(sessionId)}/messages`, { json: body, ...options });
  }

  /** Cancel the open turn. */
  cancelTurn(sessionId: string, options: RequestOptions = {}): Promise<Session> {
    return this.transport.json('POST', `/v1/sessions/${segment(sessionId)}/cancel`, options);
  }

  /** Continue a turn that did not complete. */
  continueTurn(sessionId: string, options: CreateOptions = {}): Promise<TurnContinuedEvent> {
    return this.transport.create(`/v1/sessions/${segment(sessionId)}/continue`, options);
  }

  /** List the waiting messages in order of delivery. */
  listQueue(sessionId: string, query: PageQuery = {}, options: RequestOptions = {}): Promise<Page<WaitingMessage>> {
    return this.transport.json('GET', `/v1/sessions/${segment(sessionId)}/queue`, { query, ...options });
  }

  /** Start the first message of a held queue. */
  releaseQueue(sessionId: string, options: RequestOptions = {}): Promise<Session> {
    return this.transport.json('POST', `/v1/sessions/${segment(sessionId)}/queue/release`, options);
  }

  /** Withdraw a waiting message. */
  withdrawMessage(sessionId: string, eventId: string, options: RequestOptions = {}): Promise<void> {
    return this.transport.noContent('DELETE', `/v1/sessions/${segment(sessionId)}/queue/${segment(eventId)}`, options);
  }

  /** List the events of a session, oldest first unless `order` is `desc`. */
  listEvents(sessionId: string, query: EventQuery = {}, options: RequestOptions = {}): Promise<Page<Event>> {
    return this.transport.json('GET', `/v1/sessions/${segment(sessionId)}/events`, { query, ...options });
  }

  /** Every item of `listEvents`, over all its pages. */
  eachEvent(sessionId: string, query: EventQuery = {}, options: RequestOptions = {}): ItemList<Event> {
    return eachItem(query, (page) => this.listEvents(sessionId, page, options));
  }

  /** Get a stored event. */
  getEvent(sessionId: string, eventId: string, options: RequestOptions = {}): Promise<Event> {
    return this.transport.json('GET', `/v1/sessions/${segment(sessionId)}/events/${segment(eventId)}`, options);
  }

  /** List the turns of a session, newest first. */
  listTurns(sessionId: string, query: PageQuery = {}, options: RequestOptions = {}): Promise<Page<Turn>> {
    return this.transport.json('GET', `/v1/sessions/${segment(sessionId)}/turns`, { query, ...options });
  }

  /** Every item of `listTurns`, over all its pages. */
  eachTurn(sessionId: string, query: PageQuery = {}, options: RequestOptions = {}): ItemList<Turn> {
    return eachItem(query, (page) => this.listTurns(sessionId, page, options));
  }

  /** Get a turn: its status, its outcome and its last message. */
  getTurn(sessionId: string, turnId: string, options: RequestOptions = {}): Promise<Turn> {
    return this.transport.json('GET', `/v1/sessions/${segment(sessionId)}/turns/${segment(turnId)}`, options);
  }

  /** Sum up tokens and costs of turns by day, model, session or metadata. */
  listUsage(query: UsageQuery = {}, options: RequestOptions = {}): Promise<Page<UsageGroup>> {
    return this.transport.json('GET', '/v1/usage', { query, ...options });
  }

  /** Every item of `listUsage`, over all its pages. */
  eachUsage(query: UsageQuery = {}, options: RequestOptions = {}): ItemList<UsageGroup> {
    return eachItem(query, (page) => this.listUsage(page, options));
  }

  /** Upload a file. */
  uploadFile(source: UploadSource, options: CreateOptions = {}): Promise<File> {
    return this.transport.create('/v1/files', { ...uploadBody(source), ...options });
  }

  /** List files, newest first. */
  listFiles(query: FileQuery = {}, options: RequestOptions = {}): Promise<Page<File>> {
    return this.transport.json('GET', '/v1/files', { query, ...options });
  }

  /** Every item of `listFiles`, over all its pages. */
  eachFile(query: FileQuery = {}, options: RequestOptions = {}): ItemList<File> {
    return eachItem(query, (page) => this.listFiles(page, options));
  }

  /** Get a file. */
  getFile(fileId: string, options: RequestOptions = {}): Promise<File> {
    return this.transport.json('GET', `/v1/files/${segment(fileId)}`, options);
  }

  /** Delete a file. */
  deleteFile(fileId: string, options: RequestOptions = {}): Promise<void> {
    return this.transport.noContent('DELETE', `/v1/files/${segment(fileId)}`, options);
  }

  /** Get the download link of a file. */
  getDownloadLink(fileId: string, options: RequestOptions = {}): Promise<DownloadLink> {
    return this.transport.json('GET', `/v1/files/${segment(fileId)}/link`, options);
  }

  /** Create a webhook. */
  createWebhook(body: NewWebhook, options: CreateOptions = {}): Promise<WebhookWithSecret> {
    return this.transport.create('/v1/webhooks', { json: body, ...options });
  }

  /** List webhooks, newest first. */
  listWebhooks(query: PageQuery = {}, options: RequestOptions = {}): Promise<Page<Webhook>> {
    return this.transport.json('GET', '/v1/webhooks', { query, ...options });
  }

  /** Every item of `listWebhooks`, over all its pages. */
  eachWebhook(query: PageQuery = {}, options: RequestOptions = {}): ItemList<Webhook> {
    return eachItem(query, (page) => this.listWebhooks(page, options));
  }

  /** Get a webhook. */
  getWebhook(webhookId: string, options: RequestOptions = {}): Promise<Webhook> {
    return this.transport.json('GET', `/v1/webhooks/${segment(webhookId)}`, options);
  }

  /** Change the given fields of a webhook. */
  updateWebhook(webhookId: string, body: WebhookChange = {}, options: RequestOptions = {}): Promise<Webhook> {
    return this.transport.json('PATCH', `/v1/webhooks/${segment(webhookId)}`, { json: body, ...options });
  }

  /** Delete a webhook; its pending deliveries are not sent. */
  deleteWebhook(webhookId: string, options: RequestOptions = {}): Promise<void> {
    return this.transport.noContent('DELETE', `/v1/webhooks/${segment(webhookId)}`, options);
  }

  /** Replace the secret; for 24 hours the old one also signs. */
  rotateWebhookSecret(webhookId: string, options: CreateOptions = {}): Promise<WebhookWithSecret> {
    return this.transport.create(`/v1/webhooks/${segment(webhookId)}/rotate-secret`, options);
  }

  /** Send a webhook.test delivery. */
  testWebhook(webhookId: string, options: CreateOptions = {}): Promise<WebhookDelivery> {
    return this.transport.create(`/v1/webhooks/${segment(webhookId)}/test`, options);
  }

  /** List the deliveries of a webhook, newest first; kept for 30 days. */
  listWebhookDeliveries(webhookId: string, query: WebhookDeliveryQuery = {}, options: RequestOptions = {}): Promise<Page<WebhookDelivery>> {
    return this.transport.json('GET', `/v1/webhooks/${segment(webhookId)}/deliveries`, { query, ...options });
  }

  /** Every item of `listWebhookDeliveries`, over all its pages. */
  eachWebhookDelivery(webhookId: string, query: WebhookDeliveryQuery = {}, options: RequestOptions = {}): ItemList<WebhookDelivery> {
    return eachItem(query, (page) => this.listWebhookDeliveries(webhookId, page, options));
  }

  /** Send a delivery again now, in any state. */
  retryWebhookDelivery(webhookId: string, deliveryId: string, options: CreateOptions = {}): Promise<WebhookDelivery> {
    return this.transport.create(`/v1/webhooks/${segment(webhookId)}/deliveries/${segment(deliveryId)}/retry`, options);
  }

  /** Send the failed deliveries of a webhook again. */
  retryFailedWebhookDeliveries(webhookId: string, options: CreateOptions = {}): Promise<{ count: number }> {
    return this.transport.create(`/v1/webhooks/${segment(webhookId)}/retry-failed`, options);
  }

  /** Create a schedule: it sends a message at given times. */
  createSchedule(body: NewSchedule, options: CreateOptions = {}): Promise<Schedule> {
    return this.transport.create('/v1/schedules', { json: body, ...options });
  }

  /** List schedules, newest first. */
  listSchedules(query: PageQuery = {}, options: RequestOptions = {}): Promise<Page<Schedule>> {
    return this.transport.json('GET', '/v1/schedules', { query, ...options });
  }

  /** Every item of `listSchedules`, over all its pages. */
  eachSchedule(query: PageQuery = {}, options: RequestOptions = {}): ItemList<Schedule> {
    return eachItem(query, (page) => this.listSchedules(page, options));
  }

  /** Get a schedule. */
  getSchedule(scheduleId: string, options: RequestOptions = {}): Promise<Schedule> {
    return this.transport.json('GET', `/v1/schedules/${segment(scheduleId)}`, options);
  }

  /** Change the given fields of a schedule. */
  updateSchedule(scheduleId: string, body: ScheduleChange = {}, options: RequestOptions = {}): Promise<Schedule> {
    return this.transport.json('PATCH', `/v1/schedules/${segment(scheduleId)}`, { json: body, ...options });
  }

  /** Delete a schedule; turns that it started continue. */
  deleteSchedule(scheduleId: string, options: RequestOptions = {}): Promise<void> {
    return this.transport.noContent('DELETE', `/v1/schedules/${segment(scheduleId)}`, options);
  }

  /** Pause a schedule; times during the pause are skipped. */
  pauseSchedule(scheduleId: string, options: CreateOptions = {}): Promise<Schedule> {
    return this.transport.create(`/v1/schedules/${segment(scheduleId)}/pause`, options);
  }

  /** Resume a paused schedule; the count of failed turns starts at 0. */
  resumeSchedule(scheduleId: string, options: CreateOptions = {}): Promise<Schedule> {
    return this.transport.create(`/v1/schedules/${segment(scheduleId)}/resume`, options);
  }

  /** Run a schedule now, also a paused or ended one; its times do not change. */
  runSchedule(scheduleId: string, options: CreateOptions = {}): Promise<Schedule> {
    return this.transport.create(`/v1/schedules/${segment(scheduleId)}/run`, options);
  }

  /** List the runs of a schedule, newest first; kept for 30 days. */
  listScheduleRuns(scheduleId: string, query: PageQuery = {}, options: RequestOptions = {}): Promise<Page<ScheduleRun>> {
    return this.transport.json('GET', `/v1/schedules/${segment(scheduleId)}/runs`, { query, ...options });
  }

  /** Every item of `listScheduleRuns`, over all its pages. */
  eachScheduleRun(scheduleId: string, query: PageQuery = {}, options: RequestOptions = {}): ItemList<ScheduleRun> {
    return eachItem(query, (page) => this.listScheduleRuns(scheduleId, page, options));
  }
}
