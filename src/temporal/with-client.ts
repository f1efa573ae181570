import { Client, Connection } from '@temporalio/client';
import { temporalSettings } from './connection.js';

const DEADLINE_MS = 10_000;

/** Asks Temporal on a connection of its own, for commands. */
export async function withClient<T>(work: (client: Client, namespace: string) => Promise<T>): Promise<T> {
  const { connectionOptions, namespace } = temporalSettings();
  const connection = await Connection.connect({ ...connectionOptions, connectTimeout: DEADLINE_MS });
  try {
    const client = new Client({ connection, namespace });
    return await client.withDeadline(Date.now() + DEADLINE_MS, () => work(client, namespace));
  } finally {
    await connection.close();
  }
}
