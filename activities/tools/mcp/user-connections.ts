import type { McpConnection } from '../../../src/mcp/client.js';

/** The open connections that were made with the credentials of users. */
export class UserConnections {
  readonly #open = new Map<string, Set<McpConnection>>();

  /** Remembers a connection until it is closed. Without a credential it is not one of a user. */
  keep(credentialId: string | undefined, connection: McpConnection): McpConnection {
    if (credentialId === undefined) return connection;
    const open = this.#open.get(credentialId) ?? new Set();
    this.#open.set(credentialId, open.add(connection));
    connection.onClose = () => {
      open.delete(connection);
      if (open.size === 0 && this.#open.get(credentialId) === open) this.#open.delete(credentialId);
    };
    return connection;
  }

  /** Closes those that were made with a credential, even those in use. */
  async closeOf(credentialId: string): Promise<void> {
    await Promise.all([...(this.#open.get(credentialId) ?? [])].map((connection) => connection.close()));
  }
}
