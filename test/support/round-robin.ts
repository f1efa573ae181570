import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Socket } from 'node:net';

/** A load balancer as small as can be: each connection goes to the next process that accepts one. */
export interface RoundRobin {
  url: string;
  close(): Promise<void>;
}

export async function startRoundRobin(urls: string[]): Promise<RoundRobin> {
  const targets = urls.map((url) => new URL(url));
  const open = new Set<Socket>();
  let next = 0;
  const accepting = async (): Promise<Socket | null> => {
    for (let tried = 0; tried < targets.length; tried += 1) {
      const { hostname: host, port } = targets[next++ % targets.length]!;
      const socket = connect({ host, port: Number(port) });
      if (await once(socket, 'connect').catch(() => null)) return socket;
    }
    return null;
  };
  const server = createServer({ pauseOnConnect: true }, (client) => {
    open.add(client);
    client.on('close', () => open.delete(client)).on('error', () => client.destroy());
    void accepting().then((far) => {
      if (far === null) return client.destroy();
      far.on('close', () => client.destroy()).on('error', () => client.destroy());
      client.on('close', () => far.destroy());
      client.pipe(far).pipe(client);
      client.resume();
    });
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    async close() {
      server.close();
      for (const socket of open) socket.destroy();
      await once(server, 'close');
    },
  };
}
