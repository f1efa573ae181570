import { once } from 'node:events';
import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Connection } from '@temporalio/client';
import { processIdentity } from '#temporal-dev/lock.mjs';
import { temporalCli } from '#temporal-dev/temporal-cli.mjs';
import { freePort } from './free-port.js';
import { EmbeddedServer } from './server-process.js';

const ORPHAN_TIMEOUT_MS = 5_000;

/**
 * Without these a no-op activity takes 101 ms instead of 8-12: the server polls its own queues 20 times a second as it
 * comes. One partition: no forwarding between partitions, 1.7 × the turns a second, no tail of 2 s. The last two are
 * known to servers from 1.32 on, and push a cancel to the worker without waiting for its heartbeat.
 */
const DYNAMIC_CONFIG = {
  'history.transferProcessorMaxPollRPS': 2_000,
  'history.timerProcessorMaxPollRPS': 2_000,
  'history.visibilityProcessorMaxPollRPS': 2_000,
  'system.enableEagerWorkflowStart': true,
  'system.enableActivityEagerExecution': true,
  'matching.numTaskqueueReadPartitions': 1,
  'matching.numTaskqueueWritePartitions': 1,
  // Tasks that wait are given to projects in turn (docs/operations/turns.md "Isolation").
  'matching.useNewMatcher': true,
  'matching.enableFairness': true,
  // A server prefers new tasks to waiting ones until the oldest has waited this long; 5 s unless set.
  'matching.backlogNegligibleAge': '"100ms"',
  'system.enableCancelActivityWorkerCommand': true,
  'frontend.WorkerCommandsEnabled': true,
};
/** Must exist before the first workflow that carries them, or its start is refused. */
const SEARCH_ATTRIBUTES = ['ProjectId', 'SessionId', 'ModelId', 'WaitsFor'];
/** On a file, a turn takes 28-31 ms with these and 39-47 without (24-30 in memory). */
const SQLITE_PRAGMAS = ['journal_mode=WAL', 'synchronous=NORMAL'];

/** What is kept of a server, so that the next one finds its ports and, if it was left behind, its process. */
interface State {
  port: number;
  uiPort: number;
  pid: number;
  started: string | null;
}

export interface TemporalOptions {
  /** Folder for its log and, with `persistent`, its state; made when missing. */
  dataDir: string;
  /** Keeps workflows in a file under `dataDir`; false: in memory. */
  persistent: boolean;
  /** With the web interface. */
  ui: boolean;
  /** Left out: the port of the last time when it is free, else any free one. */
  port?: number;
  /** The server's own settings beside ours. */
  dynamicConfig?: Record<string, number | boolean>;
}

/** A Temporal server of our own that runs. */
export interface EmbeddedTemporal {
  readonly server: EmbeddedServer;
  /** host:port, as TEMPORAL_ADDRESS takes it. */
  readonly address: string;
  readonly uiUrl: string | null;
  /** Starts it again on the same ports and state. */
  readonly restart: () => Promise<void>;
}

/**
 * Starts a Temporal dev server with the settings this service is measured with. One that an earlier process left
 * behind on the same state is stopped first.
 */
export async function startTemporal({
  dataDir,
  persistent,
  ui,
  port,
  dynamicConfig = {},
}: TemporalOptions): Promise<EmbeddedTemporal> {
  mkdirSync(dataDir, { recursive: true });
  const stateFile = join(dataDir, 'temporal.json');
  const last = existsSync(stateFile) ? (JSON.parse(readFileSync(stateFile, 'utf8')) as State) : null;
  if (last !== null) await stopOrphan(last);
  const chosen = port ?? (await freePort(last?.port));
  const uiPort = await freePort(last?.uiPort, [chosen]);
  const address = `127.0.0.1:${chosen}`;
  const server = await EmbeddedServer.start(
    'The Temporal server',
    {
      command: await temporalCli(),
      args: [
        ...['server', 'start-dev', '--ip', '127.0.0.1', '--port', String(chosen), '--log-level', 'error'],
        ...(ui ? ['--ui-port', String(uiPort)] : ['--headless']),
        ...(persistent ? ['--db-filename', join(dataDir, 'temporal.db')] : []),
        ...(persistent ? SQLITE_PRAGMAS.flatMap((pragma) => ['--sqlite-pragma', pragma]) : []),
        ...SEARCH_ATTRIBUTES.flatMap((name) => ['--search-attribute', `${name}=Keyword`]),
        ...Object.entries({ ...DYNAMIC_CONFIG, ...dynamicConfig }).flatMap(([key, value]) => [
          '--dynamic-config-value',
          `${key}=${value}`,
        ]),
        // A developer's own settings of the CLI name other servers.
        ...['--disable-config-file', '--disable-config-env'],
      ],
      logFile: join(dataDir, 'temporal.log'),
      stopSignal: 'SIGTERM',
      env: { PATH: process.env.PATH, HOME: process.env.HOME, TMPDIR: process.env.TMPDIR },
    },
    () => answers(address, chosen),
  );
  const remember = (): void => {
    const state: State = { port: chosen, uiPort, pid: server.pid, started: processIdentity(server.pid) };
    writeFileSync(`${stateFile}.new`, JSON.stringify(state));
    renameSync(`${stateFile}.new`, stateFile);
  };
  remember();
  return {
    server,
    address,
    uiUrl: ui ? `http://127.0.0.1:${uiPort}` : null,
    restart: async () => {
      await server.restart();
      remember();
    },
  };
}

/** Ready is: the namespace exists and knows our search attributes, not merely an open port. */
async function answers(address: string, port: number): Promise<boolean> {
  // gRPC waits a second before it tries a refused connection again: ask only who listens.
  if (!(await listens(port))) return false;
  let connection: Connection | undefined;
  try {
    connection = await Connection.connect({ address, connectTimeout: 1_000 });
    const { customAttributes } = await connection.withDeadline(Date.now() + 2_000, () =>
      connection!.operatorService.listSearchAttributes({ namespace: 'default' }),
    );
    return SEARCH_ATTRIBUTES.every((name) => name in customAttributes);
  } catch {
    return false;
  } finally {
    await connection?.close();
  }
}

async function listens(port: number): Promise<boolean> {
  const socket = connect({ port, host: '127.0.0.1' });
  try {
    await once(socket, 'connect');
    return true;
  } catch {
    return false;
  } finally {
    socket.destroy();
  }
}

async function stopOrphan({ pid, started }: State): Promise<void> {
  const lives = (): boolean => started !== null && processIdentity(pid) === started;
  if (!lives()) return;
  process.kill(pid, 'SIGTERM');
  const deadline = Date.now() + ORPHAN_TIMEOUT_MS;
  while (lives() && Date.now() < deadline) await sleep(20);
  if (lives()) process.kill(pid, 'SIGKILL');
}
