/**
 * Every error type that a client can receive, with its HTTP status (docs/errors.md, decisions.md "HTTP"). Any other type
 * is a compile error.
 */
export const ERROR_STATUS = {
  bad_request: 400,
  authentication_error: 401,
  insufficient_scope: 403,
  invalid_link: 403,
  not_an_approver: 403,
  not_found: 404,
  skill_not_found: 404,
  agent_not_found: 404,
  agent_version_not_found: 404,
  mcp_server_not_found: 404,
  credential_not_found: 404,
  session_not_found: 404,
  workspace_not_found: 404,
  workspace_file_not_found: 404,
  file_not_found: 404,
  webhook_not_found: 404,
  delivery_not_found: 404,
  schedule_not_found: 404,
  key_not_found: 404,
  memory_not_found: 404,
  erasure_not_found: 404,
  memory_file_not_found: 404,
  tool_use_not_found: 404,
  elicitation_not_found: 404,
  turn_not_found: 404,
  event_not_found: 404,
  message_not_found: 404,
  method_not_allowed: 405,
  request_timeout: 408,
  skill_name_taken: 409,
  agent_name_taken: 409,
  agent_version_conflict: 409,
  agent_limit_reached: 409,
  mcp_server_name_taken: 409,
  mcp_server_url_taken: 409,
  session_running: 409,
  child_session: 409,
  queue_full: 409,
  replay_too_long: 409,
  message_delivered: 409,
  turn_not_continuable: 409,
  webhook_limit_reached: 409,
  schedule_limit_reached: 409,
  key_limit_reached: 409,
  memory_conflict: 409,
  memory_file_limit_reached: 409,
  webhook_disabled: 409,
  tool_use_not_pending: 409,
  elicitation_not_pending: 409,
  fork_limit_reached: 409,
  tools_changed: 409,
  idempotency_key_in_use: 409,
  content_too_large: 413,
  file_too_large: 413,
  skill_bundle_too_large: 413,
  storage_limit_reached: 413,
  unsupported_media_type: 415,
  validation_error: 422,
  invalid_cursor: 422,
  invalid_filename: 422,
  invalid_skill_bundle: 422,
  invalid_mcp_server_url: 422,
  invalid_webhook_url: 422,
  mcp_probe_failed: 422,
  mcp_oauth_failed: 422,
  unknown_mcp_tool: 422,
  workspace_unavailable: 422,
  unknown_model: 422,
  metadata_too_large: 422,
  fork_too_large: 422,
  idempotency_key_reused: 422,
  rate_limit_exceeded: 429,
  too_many_running_turns: 429,
  too_many_streams: 429,
  too_many_requests: 429,
  internal_error: 500,
  storage_error: 502,
  service_unavailable: 503,
} as const;

export type ErrorType = keyof typeof ERROR_STATUS;

/**
 * An error that the client receives as it is. `message` says what to do; `details` has the fields of decisions.md "HTTP".
 */
export class ServiceError extends Error {
  readonly status: number;

  constructor(
    readonly type: ErrorType,
    message: string,
    readonly details?: Record<string, unknown>,
    readonly headers: Record<string, string> = {},
    /** Which limit refuses the request, for the operator: a label of `requests_refused_total`. The type, unless it has several. */
    readonly reason: string = type,
  ) {
    super(message);
    this.name = 'ServiceError';
    this.status = ERROR_STATUS[type];
  }
}

/** Escapes a key for a JSON Pointer (RFC 6901). */
export function pointerToken(key: string): string {
  return key.replaceAll('~', '~0').replaceAll('/', '~1');
}

/** A `validation_error` at one place. `path` is a JSON Pointer into the body, or `/query/<name>`. */
export function validationError(path: string, message: string): ServiceError {
  return new ServiceError('validation_error', `${path === '' ? 'The body' : path} ${message}.`, {
    errors: [{ path, message }],
  });
}
