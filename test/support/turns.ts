import { randomUUID } from 'node:crypto';
import { startWorker, type RunningWorker } from '../../activities/main.js';
import { AgentSessionClient } from '../../client/src/index.js';
import type { ModelEntry } from '../../src/models/catalogue.js';
import type { Config } from '../../src/platform/config.js';
import { TEST_MODEL } from './config.js';
import { eventually } from './eventually.js';
import { testLogger } from './log.js';
import { startScriptedModel, type ScriptedModel } from './scripted-model.js';
import { runService, withKeys, type RunningService, type ServiceOptions, type TestService } from './service.js';
import { SharedService } from './shared-service.js';
import { openSse, type SseReader } from './sse-reader.js';
import { connectClient } from './workflow-history.js';

export interface TurnServiceOptions extends ServiceOptions {
  /** How many workers beside the API; 0 leaves turns queued until `startWorker`. */
  workers?: number;
  /** Fields of the model's catalogue entry that differ from the tests' own. */
  model?: Partial<ModelEntry>;
  /** Options of the scripted model itself. */
  scripted?: Parameters<typeof startScriptedModel>[0];
}

/** What makes turns run. */
interface Turns {
  model: ScriptedModel;
  /** Those that were started, first one first. */
  workers: readonly RunningWorker[];
  startWorker(config?: Partial<Config>): Promise<RunningWorker>;
}

type RunningTurns = RunningService & Turns;

/** A service whose turns run: with a worker, the run's Temporal server and a scripted model. */
export interface TurnService extends TestService, Turns {
  /** A new session of the scripted model; returns its id. */
  session(body?: Record<string, unknown>): Promise<string>;
  /** Sends a message, expects 201, returns the turn's id. */
  send(sessionId: string, content: string, more?: Record<string, unknown>): Promise<string>;
  /** Sends a message and waits for the end of its turn; returns the turn's events. */
  // oxlint-disable-next-line typescript/no-explicit-any -- tests look into events of many types
  run(sessionId: string, content: string): Promise<any[]>;
  /** Asks for the cancel, and waits for the end of the turn; returns its terminal event. */
  // oxlint-disable-next-line typescript/no-explicit-any -- tests look into events of many types
  cancel(sessionId: string): Promise<any>;
  /** The first result of a tool in the session. */
  // oxlint-disable-next-line typescript/no-explicit-any -- tests look into its content
  resultOf(sessionId: string): Promise<any>;
  stream(sessionId: string, lastEventId?: string): Promise<SseReader>;
  /** Waits until the session's last turn has ended; returns its terminal event. */
  // oxlint-disable-next-line typescript/no-explicit-any -- tests look into events of many types
  ended(sessionId: string, timeoutMs?: number): Promise<any>;
  /** Every stored event of the session, page by page. */
  // oxlint-disable-next-line typescript/no-explicit-any -- tests look into events of many types
  history(sessionId: string): Promise<any[]>;
}

const shared = new SharedService((config) => runTurns({ config }));

/**
 * API, worker and scripted model in this process, on an empty database. Tests share them, one after the other: with options, or
 * while another test has them, new ones are started.
 */
export async function startTurnService(options: TurnServiceOptions = {}): Promise<TurnService> {
  const borrowed = await shared.borrow(options, endTurns);
  const service = await withKeys(borrowed === null ? await runTurns(options) : withWorkersOfOthers(borrowed));
  // What is not about the wire goes through the typed client, as users go.
  const client = new AgentSessionClient({ baseUrl: service.url, apiKey: service.key, retryForMs: 0 });
  const turns: TurnService = {
    ...service,
    async session(body = {}) {
      return (await client.createSession({ model_id: 'scripted', ...body })).id;
    },
    async send(sessionId, content, more = {}) {
      return (await client.sendMessage(sessionId, { content, ...more })).turn_id;
    },
    async run(sessionId, content) {
      const turnId = await turns.send(sessionId, content);
      await turns.ended(sessionId);
      return (await turns.history(sessionId)).filter((event) => event.turn_id === turnId);
    },
    async cancel(sessionId) {
      await service.api('POST', `/v1/sessions/${sessionId}/cancel`);
      return await turns.ended(sessionId);
    },
    resultOf: async (sessionId) => (await turns.history(sessionId)).find(({ type }) => type === 'agent.tool_result'),
    stream: (sessionId, lastEventId) =>
      openSse(`${service.url}/v1/sessions/${sessionId}/events/stream`, service.key, lastEventId),
    async ended(sessionId, timeoutMs = 100_000) {
      await eventually(
        `the turn of ${sessionId} ends`,
        async () => {
          const [turn] = await service.db.query<{ is_open: boolean }[]>(
            `SELECT state IN ('queued', 'running') AS is_open FROM turns
             WHERE id = (SELECT last_turn_id FROM sessions WHERE id = $1)`,
            [sessionId],
          );
          return turn?.is_open === false;
        },
        timeoutMs,
      );
      const session = await client.getSession(sessionId);
      return (await turns.history(sessionId)).findLast((event) => event.turn_id === session.last_turn_id);
    },
    async history(sessionId) {
      const events = [];
      for await (const event of client.eachEvent(sessionId)) events.push(event);
      return events;
    },
  };
  return turns;
}

function withWorkersOfOthers(turns: RunningTurns): RunningTurns {
  const refuse = (): Promise<never> =>
    Promise.reject(
      new Error('A test that starts or closes workers needs its own: give the option `own` with the reason'),
    );
  return { ...turns, startWorker: refuse, workers: turns.workers.map((worker) => ({ ...worker, close: refuse })) };
}

/** Cancels the turns that a test has left open, and gives the next one a model without the scripts of this one. */
async function endTurns({ db, model }: RunningTurns): Promise<void> {
  const open = (): Promise<{ turn_id: string }[]> => db.query('SELECT turn_id FROM open_turns');
  const left = await open();
  if (left.length > 0) {
    const { client, close } = await connectClient(process.env.TEMPORAL_ADDRESS!);
    for (const { turn_id } of left) await client.workflow.getHandle(turn_id).cancel();
    await eventually('the turns of the test have ended', async () => (await open()).length === 0);
    await close();
  }
  await model.renew();
}

/** Starts API, worker and scripted model in this process, on a database and a task queue of their own. */
async function runTurns(options: TurnServiceOptions): Promise<RunningTurns> {
  const model = await startScriptedModel(options.scripted);
  const entry: ModelEntry = {
    ...TEST_MODEL,
    ...{ id: 'scripted', display_name: 'Scripted', model: 'scripted-1', base_url: model.url },
    ...options.model,
  };
  const config: Partial<Config> = {
    taskQueue: `turns-${randomUUID()}`,
    shutdownGraceSeconds: 1,
    ...options.config,
  };
  const service = await runService({ ...options, models: options.models ?? [entry], config });
  const workers: RunningWorker[] = [];
  const startAnother = async (own: Partial<Config> = {}): Promise<RunningWorker> => {
    // The same object: a borrower of the service may change settings.
    const settings = Object.keys(own).length === 0 ? service.config : { ...service.config, ...own };
    const worker = await startWorker(settings, testLogger('worker'));
    workers.push(worker);
    return worker;
  };
  for (let started = 0; started < (options.workers ?? 1); started += 1) await startAnother();
  return {
    ...service,
    model,
    workers,
    startWorker: startAnother,
    async close() {
      await Promise.all(workers.map((worker) => worker.close()));
      await service.close();
      await model.close();
    },
  };
}
