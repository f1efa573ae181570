import type { Socket } from 'node:net';
import pg from 'pg';
import { databaseTokens } from './client-config.js';
import { connectError, LoginRefusedError } from './connect-error.js';

type Connected = (error: Error) => void;

/** A client that reports why it could not connect as `DatabaseAwayError` or `LoginRefusedError`. */
export class ConnectingClient extends pg.Client {
  override connect(): Promise<pg.Client>;
  override connect(callback: Connected): void;
  override connect(callback?: Connected): Promise<pg.Client> | void {
    if (callback === undefined) {
      return super.connect().catch((error: unknown) => {
        throw this.#failure(error);
      });
    }
    // pg calls it without an error too.
    super.connect((error: Error | null | undefined) => callback(error ? this.#failure(error) : (error as never)));
  }

  #failure(error: unknown): Error {
    const failure = connectError(error);
    // No further connection offers a token that Postgres refused.
    if (failure instanceof LoginRefusedError) databaseTokens.renew(String(this.password));
    // pg leaves it open when there is no password: Postgres would keep the connection for a minute, and wait for one.
    (this as unknown as { connection: { stream: Socket } }).connection.stream.destroy();
    return failure;
  }
}
