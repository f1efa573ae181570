import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { metricsText, registry } from './metrics.js';
import { answerReadiness, type Readiness } from './readiness.js';

type StatusAnswer = readonly [status: number, type: string, body: string];

/** `/healthz`, `/readyz` and `/metrics` of a process on METRICS_PORT (decisions.md "Running it"). */
export async function startStatusServer(
  { host, port }: { host: string; port: number },
  readiness: Readiness,
): Promise<{ port: number; close(): Promise<void> }> {
  const answer = async (target: string): Promise<StatusAnswer> => {
    const [path, query] = target.split('?');
    switch (path) {
      case '/healthz':
        return [200, 'application/json', '{"status":"ok"}'];
      case '/readyz': {
        const { status, body } = await answerReadiness(readiness, new URLSearchParams(query).get('deep') === '1');
        return [status, 'application/json', JSON.stringify(body)];
      }
      case '/metrics':
        return [200, registry.contentType, await metricsText()];
      default:
        return [404, 'text/plain', 'not found'];
    }
  };
  const server = createServer((request, response) => {
    void answer(request.method === 'GET' ? (request.url ?? '') : '').then(([status, type, body]) => {
      response.writeHead(status, { 'Content-Type': type }).end(body);
    });
  });
  server.listen(port, host);
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
