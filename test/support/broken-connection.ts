import type { Socket } from 'node:net';
import { PreparedClient } from '../../src/db/prepared-client.js';

/**
 * Breaks the connection of the next statement with this text, before or after Postgres commits it: then the commit is in
 * doubt. `restore` ends it.
 */
export function breakNext(text: string, moment: 'before' | 'after'): { broken: boolean; restore(): void } {
  // oxlint-disable-next-line typescript/unbound-method -- applied to the client it was called on
  const query = PreparedClient.prototype.query;
  const state = {
    broken: false,
    restore: (): void => {
      PreparedClient.prototype.query = query;
    },
  };
  PreparedClient.prototype.query = function (this: PreparedClient, ...args: unknown[]): never {
    const [form] = args as [string | { text: string }];
    const statement = typeof form === 'string' ? form : form.text;
    const run = (): unknown => query.apply(this, args as never);
    if (state.broken || !statement.includes(text)) return run() as never;
    state.broken = true;
    const cut = (): void => {
      const { stream } = (this as unknown as { connection: { stream: Socket } }).connection;
      stream.destroy(new Error('Connection terminated by the test'));
    };
    if (moment === 'before') cut();
    return Promise.resolve(run()).then(() => {
      cut();
      throw new Error('Connection terminated by the test');
    }) as never;
  };
  return state;
}
