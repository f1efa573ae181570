import type { IncomingMessage, RequestListener, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

/** Tracks open requests, so that a server can stop without interrupting one. */
interface Drain {
  listener: RequestListener;
  /** Handler for the server's `connection` event. */
  onConnection: (socket: Socket) => void;
  /** From now on each answer closes its connection, so that the client's next request opens a new one. */
  begin(): void;
  /** Stops listening and waits at most `graceMs` for open requests, then closes the remaining connections. */
  close(server: Server, graceMs: number): Promise<void>;
}

/** A connection that a proxy opened just before the end brings its request within this time. */
const SILENT_MS = 500;

export function createDrain(inner: (req: IncomingMessage, res: ServerResponse) => Promise<void>): Drain {
  const underWay = new Set<ServerResponse>();
  /** Connections without a request so far. Node does not treat them as idle and would wait for them. */
  const silent = new Set<Socket>();
  let closing = false;

  /** Sends `Connection: close`, so that the client does not send its next request on this connection. */
  const sayLast = (res: ServerResponse): void => {
    if (!res.headersSent) res.setHeader('Connection', 'close');
  };

  return {
    listener(req, res) {
      silent.delete(req.socket);
      underWay.add(res);
      res.once('close', () => underWay.delete(res));
      if (closing) sayLast(res);
      void inner(req, res);
    },
    onConnection(socket) {
      silent.add(socket);
      socket.once('close', () => silent.delete(socket));
    },
    begin() {
      closing = true;
      underWay.forEach(sayLast);
    },
    async close(server, graceMs) {
      this.begin();
      const closed = new Promise<void>((resolve) => server.close(() => resolve()));
      // If a response was sent before the drain began, its connection becomes idle only now.
      const idleTimer = setInterval(() => server.closeIdleConnections(), 100);
      const cut = setTimeout(() => server.closeAllConnections(), graceMs);
      const silentTimer = setTimeout(() => silent.forEach((socket) => socket.destroy()), Math.min(graceMs, SILENT_MS));
      server.closeIdleConnections();
      await closed;
      clearInterval(idleTimer);
      clearTimeout(silentTimer);
      clearTimeout(cut);
    },
  };
}
