import { connect, createServer, type Socket } from 'node:net';
import { once } from 'node:events';
import { listen } from './listen.js';

/** Stands between two parts of the service, so that a test can cut what goes through it. */
export interface TcpProxy {
  host: string;
  port: number;
  /** What clients send goes no further from now on; answers still reach them. */
  hold(): void;
  /** Lets go of what was held back. */
  release(): void;
  /** Nothing goes through in either direction from now on; connections stay open, new ones too. */
  swallow(): void;
  /** New connections lead to another server; the open ones stay where they are. */
  retarget(target: { host: string; port: number }): void;
  /** Breaks every connection off, with a reset; new ones go through. */
  cut(): void;
  close(): Promise<void>;
}

export async function startTcpProxy(target: { host: string; port: number }): Promise<TcpProxy> {
  const open = new Set<Socket>();
  /** The far end of each client's connection. */
  const near = new Map<Socket, Socket>();
  let holding = false;
  let swallowing = false;
  let current = target;
  const server = createServer((client) => {
    const far = connect(current);
    near.set(client, far);
    client.once('close', () => near.delete(client));
    for (const [socket, other] of [
      [client, far],
      [far, client],
    ] as const) {
      open.add(socket);
      socket.on('error', () => other.destroy());
      socket.on('close', () => {
        open.delete(socket);
        other.destroy();
      });
      if (!swallowing && (socket !== client || !holding)) socket.pipe(other);
    }
  });
  const { port } = await listen(server);
  const cut = (): void => {
    for (const socket of open) socket.resetAndDestroy();
  };
  return {
    host: '127.0.0.1',
    port,
    hold() {
      holding = true;
      for (const client of near.keys()) client.unpipe();
    },
    release() {
      holding = false;
      for (const [client, far] of near) client.pipe(far);
    },
    swallow() {
      swallowing = true;
      for (const socket of open) socket.unpipe();
    },
    retarget(next) {
      current = next;
    },
    cut,
    async close() {
      server.close();
      cut();
      await once(server, 'close');
    },
  };
}
