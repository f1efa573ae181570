/** The server's answer exceeds a limit. The message is a clause about the server, as in `failureReason`. */
export class AnswerRefusedError extends Error {
  override readonly name = 'AnswerRefusedError';
}

/** The server's answer breaks the protocol. The message is a clause about the server. */
export class McpProtocolError extends Error {
  override readonly name = 'McpProtocolError';
}

/** The server answered with an HTTP status and no message. A status below 300: with a content type that MCP does not use. */
export class HttpStatusError extends Error {
  override readonly name = 'HttpStatusError';
  constructor(readonly status: number) {
    super(`HTTP ${status} without an MCP answer`);
  }
}
