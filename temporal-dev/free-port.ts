import { randomInt } from 'node:crypto';
import getPort, { portNumbers } from 'get-port';

/** Below the ephemeral ports, so that no outgoing connection takes a server's port while the server restarts. */
const [MIN_PORT, MAX_PORT] = [20_000, 32_000];

/** A free port on this machine: `preferred` if it is free. */
export function freePort(preferred?: number, exclude: number[] = []): Promise<number> {
  // Starts at a random port, so that processes that search at the same time find different ports.
  const range = portNumbers(randomInt(MIN_PORT, MAX_PORT), MAX_PORT);
  return getPort({ host: '127.0.0.1', port: preferred ? [preferred, ...range] : range, exclude });
}
