import { randomInt } from 'node:crypto';
import { readFileSync } from 'node:fs';
import getPort, { portNumbers } from 'get-port';

const [MIN_PORT, MAX_PORT] = [1024, 65_535];
/** Ports below this one are often taken by servers of the machine. */
const USUAL_MIN_PORT = 20_000;
/** With fewer ports outside of the ephemeral range, any port is taken. */
const MIN_RANGE = 100;
/** The range of the kernel if it does not tell: IANA's, which macOS and Windows use. */
const EPHEMERAL = '49152 65535';

/**
 * A free port on this machine: `preferred` if it is free, else one that no outgoing connection takes. A port of the
 * ephemeral range can be gone when a server is started on it, or restarted.
 */
export function freePort(preferred?: number, { exclude = [] as number[], host = '127.0.0.1' } = {}): Promise<number> {
  const range = portRange(ephemeralPorts());
  // Starts at a random port, so that processes that search at the same time find different ports.
  const ports = range === null ? [] : [...portNumbers(randomInt(range[0], range[1]), range[1])];
  return getPort({ host, port: preferred ? [preferred, ...ports] : ports, exclude });
}

/** The ports to choose from, below or above the ephemeral ones; null if those leave no room. */
export function portRange(ephemeral: string): [first: number, last: number] | null {
  const [low, high] = ephemeral.trim().split(/\s+/).map(Number) as [number, number];
  if (low - USUAL_MIN_PORT > MIN_RANGE) return [USUAL_MIN_PORT, low - 1];
  if (low - MIN_PORT > MIN_RANGE) return [MIN_PORT, low - 1];
  return MAX_PORT - high > MIN_RANGE ? [high + 1, MAX_PORT] : null;
}

function ephemeralPorts(): string {
  try {
    return readFileSync('/proc/sys/net/ipv4/ip_local_port_range', 'utf8');
  } catch {
    return EPHEMERAL;
  }
}
