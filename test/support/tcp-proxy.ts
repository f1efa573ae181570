import { connect, createServer, type Socket } from 'node:net';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';

/** Stands between two parts of the service, so that a test can cut what goes through it. */
export interface TcpProxy {
  host: string;
  port: number;
  /** What clients send goes no further from now on; answers still reach them. */
  hold(): void;
  /** Breaks every connection off, with a reset; new ones go through. */
  cut(): void;
  close(): Promise<void>;
}

export async function startTcpProxy(target: { host: string; port: number }): Promise<TcpProxy> {
  const open = new Set<Socket>();
  const near = new Set<Socket>();
  let holding = false;
  const server = createServer((client) => {
    const far = connect(target);
    near.add(client);
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
      if (socket !== client || !holding) socket.pipe(other);
    }
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const cut = (): void => {
    for (const socket of open) socket.resetAndDestroy();
  };
  return {
    host: '127.0.0.1',
    port,
    hold() {
      holding = true;
      for (const client of near) client.unpipe();
    },
    cut,
    async close() {
      server.close();
      cut();
      await once(server, 'close');
    },
  };
}
