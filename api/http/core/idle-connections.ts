import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

/**
 * Closes the connections that have been idle for the longest time while the server has more than `maxConnections`. A
 * connection is idle while it has no request under way. Otherwise idle clients could keep everybody else out.
 */
export function closeOldestIdle(server: Server, maxConnections: number): void {
  /** In the order in which they became idle. */
  const idle = new Set<Socket>();
  let open = 0;

  server.on('connection', (socket: Socket) => {
    open += 1;
    idle.add(socket);
    socket.once('close', () => {
      open -= 1;
      idle.delete(socket);
    });
    if (open <= maxConnections) return;
    const [oldest] = idle;
    idle.delete(oldest!);
    oldest!.destroy();
  });
  server.on('request', ({ socket }: IncomingMessage, res: ServerResponse) => {
    idle.delete(socket);
    res.once('close', () => {
      if (!socket.destroyed) idle.add(socket);
    });
  });
}
