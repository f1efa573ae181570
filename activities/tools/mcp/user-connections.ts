import type { McpConnection } from '../../../src/mcp/client.js';
import type { DroppedCredential, UserCredential } from '../../../src/mcp/user-credentials.js';

/** The open connections that were made with the credentials of users. */
export class UserConnections {
  /** By the id of the credential, each connection with the version that it was made with. */
  readonly #open = new Map<string, Map<McpConnection, number>>();

  /** Remembers a connection until it is closed. Without a credential it is not one of a user. */
  keep(credential: UserCredential | null | undefined, connection: McpConnection): McpConnection {
    if (credential == null) return connection;
    const { id, credential_version: version } = credential;
    const open = this.#open.get(id) ?? new Map<McpConnection, number>();
    this.#open.set(id, open.set(connection, version));
    connection.onClose = () => {
      open.delete(connection);
      if (open.size === 0 && this.#open.get(id) === open) this.#open.delete(id);
    };
    return connection;
  }

  /** Closes those that were made with a credential, or with versions of it before one, even those in use. */
  async closeOf({ id, before }: DroppedCredential): Promise<void> {
    const open = [...(this.#open.get(id) ?? [])].filter(([, version]) => before === null || version < before);
    await Promise.all(open.map(([connection]) => connection.close()));
  }
}
