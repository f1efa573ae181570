import type { IncomingMessage, RequestListener, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

/** Keeps an eye on requests under way, so that a server can stop without breaking one off. */
export interface Drain {
  listener: RequestListener;
  /** For the server's `connection`. */
  onConnection: (socket: Socket) => void;
  /** Stops listening and waits for the requests under way, at most `graceMs`; what is open then is cut. */
  close(server: Server, graceMs: number): Promise<void>;
}

export function createDrain(inner: (req: IncomingMessage, res: ServerResponse) => Promise<void>): Drain {
  const underWay = new Set<ServerResponse>();
  /** Connections without a request so far: Node does not count them as idle and would wait for them. */
  const silent = new Set<Socket>();
  let closing = false;

  /** Tells the client of a kept connection not to send its next request here. */
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
    async close(server, graceMs) {
      closing = true;
      underWay.forEach(sayLast);
      const closed = new Promise<void>((resolve) => server.close(() => resolve()));
      // A connection whose answer went out before it could be told becomes idle only now.
      const idleTimer = setInterval(() => server.closeIdleConnections(), 100);
      const cut = setTimeout(() => server.closeAllConnections(), graceMs);
      server.closeIdleConnections();
      silent.forEach((socket) => socket.destroy());
      await closed;
      clearInterval(idleTimer);
      clearTimeout(cut);
    },
  };
}
