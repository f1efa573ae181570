import type { components } from './generated/schema.js';

type Schemas = components['schemas'];
type DetailsByType = Required<Schemas['ErrorDetails']>;
/** Every error `type` of the service. */
export type ErrorType = keyof DetailsByType;
/** The type of `details` for each error type. */
export type ErrorDetails<Type extends ErrorType> = OrUndefined<DetailsByType[Type]>;
type OrUndefined<Details> = Details extends null ? undefined : Details;

export type Skill = Schemas['Skill'];
/** A file of a skill. */
export type SkillFile = Schemas['SkillFile'];
export type McpServer = Schemas['McpServer'];
/** A tool of an MCP server with the schema of its input. */
export type McpServerTool = Schemas['McpServerTool'];
export type McpToolResult = Schemas['McpToolResult'];
/** A tool of a server with pinned tools that is held back until it is accepted. */
export type ChangedMcpTool = Schemas['ChangedMcpTool'];
/** The credential of a user for an MCP server, without its secret. */
export type Credential = Schemas['Credential'];
export type Model = Schemas['Model'];
export type Session = Schemas['Session'];
/** A copy of a session, with a token for it if a session token asked for the copy. */
export type ForkedSession = Schemas['ForkedSession'];
/** A tool whose calls a person has allowed for a session. */
export type RememberedApproval = Schemas['RememberedApproval'];
/** What a tool may do, as its server says. */
export type ToolAnnotations = Schemas['ToolAnnotations'];
export type File = Schemas['File'];
/** An entry of a session's tools: permissions for an MCP server's tools, or a tool that the client runs. */
export type SessionTool = Schemas['SessionTool'];
/** What a turn waits for. */
export type RequiredAction = Schemas['RequiredAction'];
/** A question that an MCP server asks during a call. */
export type Elicitation = Extract<RequiredAction, { type: 'elicitation' }>;
/** A model call that does not fit into the session's budget. */
export type BudgetAction = Extract<RequiredAction, { type: 'budget' }>;
/** A call that waits until the user of the session has authorized its MCP server: see `authorizeSession`. */
export type McpAuthorizationAction = Extract<RequiredAction, { type: 'mcp_authorization' }>;
/** A call that a person allows or denies. */
export type ToolConfirmationAction = Extract<RequiredAction, { type: 'tool_confirmation' }>;
/** A call that waits for a person's decision or for the client's result. */
export type WaitingCall = Exclude<RequiredAction, Elicitation | BudgetAction | McpAuthorizationAction>;
/** The erasure of a person. */
export type Erasure = Schemas['Erasure'];
export type NewErasure = Schemas['NewErasure'];
/** What agents keep between sessions. */
export type Memory = Schemas['Memory'];
export type MemoryFile = Schemas['MemoryFile'];
export type MemoryVersion = Schemas['MemoryVersion'];
export type NewMemory = Schemas['NewMemory'];
export type NewMemoryFile = Schemas['NewMemoryFile'];
export type Webhook = Schemas['Webhook'];
/** The response of creation and rotation. Only these show the secret. */
export type WebhookWithSecret = Schemas['WebhookWithSecret'];
export type WebhookDelivery = Schemas['WebhookDelivery'];
export type RetriedDeliveries = Schemas['RetriedDeliveries'];
export type Schedule = Schemas['Schedule'];
export type ScheduleRun = Schemas['ScheduleRun'];
/** A key of the project, without its secret. */
export type ApiKey = Schemas['ApiKey'];
/** The response of creation. Only this shows the secret. */
export type ApiKeyWithSecret = Schemas['ApiKeyWithSecret'];
/** Who changed what, or was refused to. */
export type AuditEntry = Schemas['AuditEntry'];
/** The body of a webhook request. */
export type WebhookPayload = Schemas['WebhookPayload'];

/** A turn and its outcome: `message` is the agent's last one. */
export type Turn = Schemas['Turn'];
/** A part of a turn with its begin and end. */
export type TimelineEntry = Schemas['TimelineEntry'];

/** A stored event, discriminated by `type`. */
export type Event = Schemas['Event'];
/** The event of a message that was sent; it has `state` while the message waits. */
export type SentMessage = Schemas['SentMessage'];
export type UserMessageEvent = SentMessage;
/** A message that waits. */
export type WaitingMessage = Schemas['WaitingMessage'];
export type TurnContinuedEvent = Schemas['TurnContinuedEvent'];
/** A stored answer. */
export type AnswerEvent = Schemas['AnswerEvent'];
export type AgentMessageEvent = Extract<Event, { type: 'agent.message' }>;
/** The event that ends a turn. */
export type TerminalEvent = Extract<Event, { type: 'turn.completed' | 'turn.cancelled' | 'turn.failed' }>;
export type Usage = NonNullable<TerminalEvent['usage']>;
/** A fragment of text while the model writes it. Only streams contain it. */
export type DeltaEvent = Schemas['DeltaEvent'];
/** The model is away, and is called again at `retry_at`. Only streams contain it. */
export type RetryEvent = Schemas['RetryEvent'];
export type StreamEvent = Event | DeltaEvent | RetryEvent;
/** A frame of the stream as in SSE; `data` is a StreamEvent as JSON. */
export type StreamFrame = Schemas['StreamFrame'];

/** A configuration with a name and versions, of which sessions are made. */
export type Agent = Schemas['Agent'];
export type AgentVersion = Schemas['AgentVersion'];
export type NewAgent = Schemas['NewAgent'];
export type AgentChange = Schemas['AgentChange'];
/** A version of an agent, and what the session has instead of parts of it. */
export type AgentReference = Schemas['AgentReference'];

export type NewSession = Schemas['NewSession'];
export type NewSessionToken = Schemas['NewSessionToken'];
/** A token with which a page uses one session. */
export type SessionToken = Schemas['SessionToken'];
export type TokenScope = Schemas['TokenScope'];
export type SessionChange = Schemas['SessionChange'];
export type NewFork = Schemas['NewFork'];
/** An answer to a waiting call. */
export type Answer = Schemas['NewAnswers']['events'][number];
export type Confirmation = Omit<Extract<Answer, { type: 'user.tool_confirmation' }>, 'type'>;
export type ElicitationResult = Omit<Extract<Answer, { type: 'user.elicitation_result' }>, 'type'>;
export type CustomToolResult = Omit<Extract<Answer, { type: 'user.custom_tool_result' }>, 'type'>;
export type NewMessage = Schemas['NewMessage'];
export type NewMcpServer = Schemas['NewMcpServer'];
export type McpServerChange = Schemas['McpServerChange'];
export type NewMcpToolCall = Schemas['NewMcpToolCall'];
export type AcceptedMcpTools = Schemas['AcceptedMcpTools'];
export type NewCredential = Schemas['NewCredential'];
export type SessionAuthorizationRequest = Schemas['SessionAuthorizationRequest'];
/** Where the user of a session authorizes an MCP server. */
export type SessionAuthorization = Schemas['SessionAuthorization'];
export type NewWebhook = Schemas['NewWebhook'];
export type NewSchedule = Schemas['NewSchedule'];
export type ScheduleChange = Schemas['ScheduleChange'];
export type WebhookChange = Schemas['WebhookChange'];
export type NewApiKey = Schemas['NewApiKey'];
export type ApiKeyChange = Schemas['ApiKeyChange'];

/** A page of a list; `next_cursor` is null on the last one. */
export interface Page<Item> {
  items: Item[];
  meta: { next_cursor: string | null };
}

export interface PageQuery {
  /** 1 to 100; default 20. */
  limit?: number;
  /** `meta.next_cursor` of the previous page. */
  cursor?: string;
}

/** Filters of the event history; all of them must match. */
export type EventQuery = PageQuery & Omit<Schemas['EventFilter'], 'types'> & { types?: Event['type'][] };
/** Filters of the list of sessions; all of them must match. */
export type SessionFilter = Schemas['SessionFilter'];
export type SessionQuery = PageQuery & SessionFilter;
export type AgentQuery = PageQuery & Schemas['AgentFilter'];
/** What the turns of a group took, and how they are grouped. */
export type UsageGroup = Schemas['UsageGroup'];
export type UsageQuery = PageQuery & Schemas['UsageFilter'];
export type CredentialQuery = PageQuery & Schemas['CredentialFilter'];
export type FileQuery = PageQuery & Schemas['FileFilter'];
/** Filters of the audit log; all of them must match. */
export type AuditEntryQuery = PageQuery & Schemas['AuditEntryFilter'];
export type MemoryQuery = PageQuery & Schemas['MemoryFilter'];
export type MemoryFileQuery = PageQuery & Schemas['MemoryFileFilter'];
export type MemoryVersionQuery = PageQuery & Schemas['MemoryVersionFilter'];
export type WebhookDeliveryQuery = PageQuery & Schemas['WebhookDeliveryFilter'];
/** A file, folder or link of a session's workspace. */
export type WorkspaceFile = Schemas['WorkspaceFile'];
export type WorkspaceFileQuery = PageQuery & Schemas['WorkspaceFileFilter'];
export type DownloadLink = Schemas['DownloadLink'];

/** True if the event ends its turn and the stream. */
export function isTerminal(event: StreamEvent): event is TerminalEvent {
  return event.type === 'turn.completed' || event.type === 'turn.cancelled' || event.type === 'turn.failed';
}
