/** The server speaks, but its answer breaks the protocol in a way that the SDK does not see. */
export class McpProtocolError extends Error {
  override readonly name = 'McpProtocolError';
}
