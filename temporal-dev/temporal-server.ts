import { once } from 'node:events';
import { mkdirSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { Connection } from '@temporalio/client';
import { temporalCli } from '#temporal-dev/temporal-cli.mjs';
import { freePort } from '../src/platform/free-port.js';
import { readKept, writeKept } from '../dev/data-dir.js';
import { EmbeddedServer, endLeftBehind } from '../dev/server-process.js';

/**
 * Without these settings a no-op activity takes 101 ms instead of 8-12, because by default the server polls its own queues
 * 20 times a second. With one partition there is no forwarding between partitions: 1.7 × the turns per second and no
 * latency tail of 2 s. The last two settings need a server from 1.32 on; they push a cancel to the worker without waiting
 * for its heartbeat.
 */
const DYNAMIC_CONFIG = {
  'history.transferProcessorMaxPollRPS': 2_000,
  'history.timerProcessorMaxPollRPS': 2_000,
  'history.visibilityProcessorMaxPollRPS': 2_000,
  'system.enableEagerWorkflowStart': true,
  'system.enableActivityEagerExecution': true,
  'matching.numTaskqueueReadPartitions': 1,
  'matching.numTaskqueueWritePartitions': 1,
  // Fairness: waiting tasks are dispatched to the projects in turn (docs/operations/turns.md "Isolation").
  'matching.useNewMatcher': true,
  'matching.enableFairness': true,
  // The server prefers new tasks to waiting ones until the oldest has waited this long; the default is 5 s.
  'matching.backlogNegligibleAge': '"100ms"',
  'system.enableCancelActivityWorkerCommand': true,
  'frontend.WorkerCommandsEnabled': true,
};
/** Must exist before the first workflow that sets them, or its start is rejected. */
const SEARCH_ATTRIBUTES = ['ProjectId', 'SessionId', 'ModelId', 'WaitsFor'];
/** On a file, a turn takes 28-31 ms with these and 39-47 without (24-30 in memory). */
const SQLITE_PRAGMAS = ['journal_mode=WAL', 'synchronous=NORMAL'];

/** The settings of a development server on a file, as pairs of an option and its value; compose.yaml has the same. */
export const SERVER_SETTINGS = settingsOf(true);

function settingsOf(persistent: boolean, more: Record<string, unknown> = {}): [string, string][] {
  const dynamicConfig = { ...DYNAMIC_CONFIG, ...more };
  return [
    ...(persistent ? SQLITE_PRAGMAS : []).map((pragma): [string, string] => ['--sqlite-pragma', pragma]),
    ...SEARCH_ATTRIBUTES.map((name): [string, string] => ['--search-attribute', `${name}=Keyword`]),
    ...Object.entries(dynamicConfig).map(([key, value]): [string, string] => [
      '--dynamic-config-value',
      `${key}=${String(value)}`,
    ]),
  ];
}

/** Kept for the next start. */
interface Ports {
  port: number;
  uiPort: number;
}

interface TemporalOptions {
  /** Folder for its log and, with `persistent`, its state; made when missing. */
  dataDir: string;
  /** Keeps workflows in a file under `dataDir`; false: in memory. */
  persistent: boolean;
  /** With the web interface. */
  ui: boolean;
  /** Further settings of the server. */
  dynamicConfig?: Record<string, number | boolean>;
}

export interface EmbeddedTemporal {
  readonly server: EmbeddedServer;
  /** host:port, as TEMPORAL_ADDRESS takes it. */
  readonly address: string;
  readonly uiUrl: string | null;
}

/**
 * Starts a Temporal dev server with the settings above. First stops a server that an earlier process left running on the
 * same state.
 */
export async function startTemporal({
  dataDir,
  persistent,
  ui,
  dynamicConfig = {},
}: TemporalOptions): Promise<EmbeddedTemporal> {
  mkdirSync(dataDir, { recursive: true });
  await endLeftBehind(dataDir, 'temporal');
  const last = JSON.parse(readKept(dataDir, 'temporal.json') ?? 'null') as Ports | null;
  // Those of the last start if they are free.
  const port = await freePort(last?.port);
  const uiPort = await freePort(last?.uiPort, { exclude: [port] });
  const address = `127.0.0.1:${port}`;
  const server = await EmbeddedServer.start(
    'The Temporal server',
    {
      command: await temporalCli(),
      args: [
        ...['server', 'start-dev', '--ip', '127.0.0.1', '--port', String(port), '--log-level', 'error'],
        ...(ui ? ['--ui-port', String(uiPort)] : ['--headless']),
        ...(persistent ? ['--db-filename', join(dataDir, 'temporal.db')] : []),
        ...settingsOf(persistent, dynamicConfig).flat(),
        // A developer's own CLI settings may point to other servers.
        ...['--disable-config-file', '--disable-config-env'],
      ],
      dataDir,
      name: 'temporal',
      stopSignal: 'SIGTERM',
      env: { PATH: process.env.PATH, HOME: process.env.HOME, TMPDIR: process.env.TMPDIR },
    },
    () => answers(address, port),
  );
  const ports: Ports = { port, uiPort };
  writeKept(dataDir, 'temporal.json', JSON.stringify(ports));
  return { server, address, uiUrl: ui ? `http://127.0.0.1:${uiPort}` : null };
}

/** Waits until the namespace exists and has our search attributes; an open port is not enough. */
async function answers(address: string, port: number): Promise<boolean> {
  // gRPC retries a refused connection only after a second, so first wait until the port is open.
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
