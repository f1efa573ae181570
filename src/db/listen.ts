import pg from 'pg';
import type { Logger } from '../platform/logger.js';

const BACKOFF_MS = [50, 100, 250, 500, 1000, 2000];
const PROBE_MS = 10_000;

/** A process' one LISTEN connection: reconnects by itself, and says when notifications may have been missed. */
export interface Listener {
  /** True while notifications arrive. */
  readonly connected: boolean;
  close(): Promise<void>;
}

/**
 * Listens on `channel` with a direct connection of its own (LISTEN breaks behind transaction pooling).
 * `onConnect` runs after every (re)connection: what was sent before then is lost and must be read from the tables.
 */
export function listen(
  databaseUrl: string,
  channel: string,
  onPayload: (payload: string) => void,
  onConnect: () => void,
  log: Logger,
): Listener {
  let client: pg.Client | null = null;
  let connected = false;
  let closed = false;
  let failures = 0;
  let timer: NodeJS.Timeout | undefined;

  const lose = (lost: pg.Client, err?: Error): void => {
    if (client !== lost) return;
    client = null;
    connected = false;
    void lost.end().catch(() => undefined);
    if (closed) return;
    const delay = BACKOFF_MS[Math.min(failures, BACKOFF_MS.length - 1)]!;
    failures += 1;
    log.warn({ err, delay }, 'the LISTEN connection is lost, connecting again');
    timer = setTimeout(() => void connect(), delay);
  };

  const connect = async (): Promise<void> => {
    const next = new pg.Client({
      connectionString: databaseUrl,
      application_name: `listen ${channel}`,
      keepAlive: true,
      connectionTimeoutMillis: 5000,
    });
    client = next;
    next.on('error', (err) => lose(next, err));
    next.on('end', () => lose(next));
    next.on('notification', ({ payload }) => onPayload(payload ?? ''));
    try {
      await next.connect();
      await next.query(`LISTEN ${pg.escapeIdentifier(channel)}`);
    } catch (err) {
      lose(next, err as Error);
      return;
    }
    if (client !== next) return;
    connected = true;
    failures = 0;
    onConnect();
  };

  // A connection that a network swallowed without a word is found by asking it something.
  const probe = setInterval(() => {
    const probed = client;
    if (probed === null || !connected) return;
    const late = setTimeout(() => lose(probed, new Error('the LISTEN connection does not answer')), PROBE_MS / 2);
    probed.query('SELECT 1').then(
      () => clearTimeout(late),
      () => clearTimeout(late),
    );
  }, PROBE_MS);

  void connect();
  return {
    get connected() {
      return connected;
    },
    async close() {
      closed = true;
      clearInterval(probe);
      clearTimeout(timer);
      const open = client;
      client = null;
      await open?.end().catch(() => undefined);
    },
  };
}
