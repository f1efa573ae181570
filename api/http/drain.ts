import type { IncomingMessage, RequestListener, Server, ServerResponse } from 'node:http';

/** Counts requests under way, so that a server can stop without breaking one off. */
export interface Drain {
  listener: RequestListener;
  /** Stops listening and waits for the requests under way, at most `graceMs`; what is open then is cut. */
  close(server: Server, graceMs: number): Promise<void>;
}

export function createDrain(inner: (req: IncomingMessage, res: ServerResponse) => Promise<void>): Drain {
  let closing = false;
  return {
    listener(req, res) {
      // Tells the client of a kept connection not to send its next request here.
      if (closing) res.setHeader('Connection', 'close');
      void inner(req, res);
    },
    async close(server, graceMs) {
      closing = true;
      const closed = new Promise<void>((resolve) => server.close(() => resolve()));
      server.closeIdleConnections();
      const sweep = setInterval(() => server.closeIdleConnections(), 100);
      const cut = setTimeout(() => server.closeAllConnections(), graceMs);
      await closed;
      clearInterval(sweep);
      clearTimeout(cut);
    },
  };
}
