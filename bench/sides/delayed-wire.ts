import { connect, createServer } from 'node:net';
import { listen } from '../../test/support/listen.js';

/**
 * Leads to a server that is farther away: what clients send arrives `ms` later, and answers come at once. Returns its port; it ends
 * with this process.
 */
export async function delayWire(target: { host: string; port: number }, ms: number): Promise<number> {
  const server = createServer({ noDelay: true }, (client) => {
    const far = connect({ ...target, noDelay: true });
    // Timers of one duration run in the order in which they were set.
    client.on('data', (chunk) => void setTimeout(() => far.write(chunk), ms));
    client.on('close', () => void setTimeout(() => far.destroy(), ms));
    client.on('error', () => far.destroy());
    far.on('error', () => client.destroy());
    far.pipe(client);
  });
  const { port } = await listen(server);
  server.unref();
  return port;
}
