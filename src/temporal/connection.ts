import { Client, Connection, type ConnectionLike } from '@temporalio/client';
import { loadClientConnectConfig } from '@temporalio/envconfig';
import { clientInterceptors } from './tracing.js';

/** Time limit of a call to Temporal. */
export const CALL_TIMEOUT_MS = 10_000;

/**
 * Temporal's address from its own environment configuration (TEMPORAL_ADDRESS, TEMPORAL_NAMESPACE, TEMPORAL_API_KEY,
 * TLS variables; decisions.md "Running it").
 */
export function temporalSettings(): ReturnType<typeof loadClientConnectConfig> & { namespace: string } {
  const settings = loadClientConnectConfig();
  return { ...settings, namespace: settings.namespace ?? 'default' };
}

/**
 * A lazy connection: the API starts and accepts messages while Temporal is away. The SDK's own retries are off: their
 * timers outlive the connection and throw an error that cannot be caught ("Channel has been shut down").
 * `turn-workflows` retries for a short time, the reconciler after that.
 */
export function connectLazily(): Connection {
  return Connection.lazy({ ...temporalSettings().connectionOptions, interceptors: [] });
}

/** A client on the API's own connection, or on the worker's if both run in one process. */
export function createTemporalClient(connection: ConnectionLike): Client {
  return new Client({
    connection,
    namespace: temporalSettings().namespace,
    interceptors: { workflow: clientInterceptors() },
  });
}
