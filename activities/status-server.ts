import { createServer } from 'node:http';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import type { DataSource } from 'typeorm';
import { isReady } from '../src/db/schema-version.js';
import type { Config } from '../src/platform/config.js';
import { metricsText, registry } from '../src/platform/metrics.js';

/** The worker's `/healthz`, `/readyz` and `/metrics` on METRICS_PORT (contract.md §5). */
export async function startStatusServer(
  config: Config,
  db: DataSource,
): Promise<{ port: number; close(): Promise<void> }> {
  const answers: Record<string, () => Promise<[status: number, type: string, body: string]>> = {
    '/healthz': async () => [200, 'application/json', '{"status":"ok"}'],
    '/readyz': async () => {
      const ready = await isReady(db).catch(() => false);
      return [ready ? 200 : 503, 'application/json', JSON.stringify({ postgres: ready ? 'ok' : 'away' })];
    },
    '/metrics': async () => [200, registry.contentType, await metricsText()],
  };
  const server = createServer((request, response) => {
    const answer = request.method === 'GET' ? answers[request.url ?? ''] : undefined;
    void (answer?.() ?? Promise.resolve([404, 'text/plain', 'not found'] as const)).then(([status, type, body]) => {
      response.writeHead(status, { 'Content-Type': type }).end(body);
    });
  });
  server.listen(config.metricsPort!, config.host);
  await once(server, 'listening');
  return {
    port: (server.address() as AddressInfo).port,
    close: async () => {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}
