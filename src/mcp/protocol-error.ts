/** The server's answer breaks the protocol in a way that the SDK does not detect. */
export class McpProtocolError extends Error {
  override readonly name = 'McpProtocolError';
}
