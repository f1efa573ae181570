import { PreparedClient } from '../../src/db/prepared-client.js';

/** A statement that was sent to Postgres, and whether its connection waited for no other answer then. */
export interface Sent {
  text: string;
  beginsRoundTrip: boolean;
}

/**
 * Calls `onSent` for each statement that this process sends, until the returned function runs. Statements that follow each other
 * on one connection, without waiting for an answer in between, share a round trip.
 */
export function watchStatements(onSent: (sent: Sent, pool: string) => void): () => void {
  const unanswered = new WeakMap<PreparedClient, number>();
  // oxlint-disable-next-line typescript/unbound-method -- applied to the client it was called on
  const query = PreparedClient.prototype.query;
  PreparedClient.prototype.query = function (this: PreparedClient, ...args: unknown[]): never {
    const [form] = args as [string | { text: string }];
    const { application_name: pool } = (this as unknown as { connectionParameters: { application_name: string } })
      .connectionParameters;
    const before = unanswered.get(this) ?? 0;
    const text = typeof form === 'string' ? form : form.text;
    onSent({ text, beginsRoundTrip: before === 0 }, pool);
    const answer: unknown = query.apply(this, args);
    unanswered.set(this, before + 1);
    const answered = (): unknown => unanswered.set(this, unanswered.get(this)! - 1);
    (answer as Promise<unknown>).then(answered, answered);
    return answer as never;
  };
  return () => {
    PreparedClient.prototype.query = query;
  };
}
