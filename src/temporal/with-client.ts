import { Client, Connection } from '@temporalio/client';
import { CALL_TIMEOUT_MS, temporalSettings } from './connection.js';

/** Asks Temporal on a connection of its own, for commands. @param timeoutMs of the work */
export async function withClient<T>(
  work: (client: Client, namespace: string) => Promise<T>,
  timeoutMs = CALL_TIMEOUT_MS,
): Promise<T> {
  const { connectionOptions, namespace } = temporalSettings();
  const connection = await Connection.connect({ ...connectionOptions, connectTimeout: CALL_TIMEOUT_MS });
  try {
    const client = new Client({ connection, namespace });
    return await client.withDeadline(Date.now() + timeoutMs, () => work(client, namespace));
  } finally {
    await connection.close();
  }
}
