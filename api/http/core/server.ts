import { createServer, type RequestListener, type Server } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { ServiceError } from '../../../src/platform/errors.js';
import { newId } from '../../../src/platform/ids.js';
import { errorEnvelope } from './error-response.js';
import { closeOldestIdle } from './idle-connections.js';

const LIMITS = {
  maxConnections: 10_000,
  /** Beyond this number the oldest idle connections are closed (docs/decisions.md "Limits of work"). */
  maxWithIdle: 8_000,
  headersTimeout: 20_000,
  /**
   * 100 MiB over a slow connection take longer than Node's default of five minutes. The readers of bodies have idle
   * timeouts.
   */
  requestTimeout: 3_600_000,
  /** Longer than the 600 s of load balancers, so that they never send on a connection that the server closes. */
  keepAliveTimeout: 620_000,
  connectionsCheckingInterval: 5000,
};

/** The HTTP server with its limits. Errors of its parser get the API's error envelope. */
export function createHttpServer(listener: RequestListener, limits: Partial<typeof LIMITS> = {}): Server {
  const { maxConnections, maxWithIdle, ...options } = { ...LIMITS, ...limits };
  const server = createServer(options, listener);
  server.maxConnections = maxConnections;
  closeOldestIdle(server, maxWithIdle);
  server.on('clientError', refuse);
  return server;
}

/** Listens and returns the address. @throws if the port is taken */
export async function listen(server: Server, host: string, port: number): Promise<AddressInfo> {
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen({ host, port }, () => {
      server.off('error', reject);
      resolve();
    });
  });
  return server.address() as AddressInfo;
}

const STATUS_LINES: Record<string, string> = {
  HPE_HEADER_OVERFLOW: '431 Request Header Fields Too Large',
  ERR_HTTP_REQUEST_TIMEOUT: '408 Request Timeout',
};

function refuse(error: NodeJS.ErrnoException, socket: Socket & { _httpMessage?: { headersSent: boolean } }): void {
  if (!socket.writable || error.code === 'ECONNRESET' || socket._httpMessage?.headersSent === true) {
    socket.destroy();
    return;
  }
  const refusal =
    error.code === 'ERR_HTTP_REQUEST_TIMEOUT'
      ? new ServiceError('request_timeout', 'The request took too long to arrive.')
      : new ServiceError('bad_request', 'The request is not valid HTTP.');
  const requestId = newId('request');
  const body = JSON.stringify(errorEnvelope(refusal, requestId));
  socket.end(
    `HTTP/1.1 ${STATUS_LINES[error.code ?? ''] ?? '400 Bad Request'}\r\n` +
      `Connection: close\r\nContent-Type: application/json\r\nContent-Length: ${Buffer.byteLength(body)}\r\n` +
      `X-Request-Id: ${requestId}\r\n\r\n${body}`,
  );
}
