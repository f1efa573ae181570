import { Client, Connection, type ConnectionLike } from '@temporalio/client';
import { loadClientConnectConfig } from '@temporalio/envconfig';
import { clientInterceptors } from './tracing.js';

/**
 * Where Temporal is, from its own environment configuration (TEMPORAL_ADDRESS, TEMPORAL_NAMESPACE, TEMPORAL_API_KEY,
 * TLS variables; contract.md §5).
 */
export function temporalSettings(): ReturnType<typeof loadClientConnectConfig> & { namespace: string } {
  const settings = loadClientConnectConfig();
  return { ...settings, namespace: settings.namespace ?? 'default' };
}

/**
 * A connection that is made at its first use: the API starts and accepts messages while Temporal is away. Without the
 * SDK's retries: their timers outlive the connection and throw where nobody can catch it ("Channel has been shut down").
 * `turn-workflows` retries for a moment, the reconciler after that.
 */
export function connectLazily(): Connection {
  return Connection.lazy({ ...temporalSettings().connectionOptions, interceptors: [] });
}

/** A client on a connection of the API's own, or on the worker's where both share a process. */
export function createTemporalClient(connection: ConnectionLike): Client {
  return new Client({
    connection,
    namespace: temporalSettings().namespace,
    interceptors: { workflow: clientInterceptors() },
  });
}
