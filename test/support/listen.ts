import { once } from 'node:events';
import type { Server as HttpServer } from 'node:http';
import type { AddressInfo, Server } from 'node:net';

/** Opens a server on the loopback address, by default on any free port. */
export async function listen(server: Server, port = 0): Promise<{ port: number; host: string; url: string }> {
  server.listen(port, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address() as AddressInfo;
  const host = `127.0.0.1:${address.port}`;
  return { port: address.port, host, url: `http://${host}` };
}

/** Ends a server and the connections that are open. */
export async function closeServer(server: HttpServer): Promise<void> {
  const closed = once(server, 'close');
  server.close();
  server.closeAllConnections();
  await closed;
}
