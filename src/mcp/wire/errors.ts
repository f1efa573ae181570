/** The server's answer exceeds a limit. The message is a clause about the server, as in `failureReason`. */
export class AnswerRefusedError extends Error {
  override readonly name = 'AnswerRefusedError';
}

/** The server's answer breaks the protocol in a way that the SDK does not detect. */
export class McpProtocolError extends Error {
  override readonly name = 'McpProtocolError';
}
