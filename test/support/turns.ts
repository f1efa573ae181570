import { randomUUID } from 'node:crypto';
import type { RunningWorker } from '../../activities/main.js';
import { startWorker } from '../../activities/main.js';
import type { Config } from '../../src/platform/config.js';
import type { ModelEntry } from '../../src/models/catalogue.js';
import { AgentSessionClient } from '../../client/src/index.js';
import { testLogger } from './log.js';
import { startScriptedModel, type ScriptedModel } from './scripted-model.js';
import { startService, type ServiceOptions, type TestService } from './service.js';
import { openSse, type SseReader } from './sse-reader.js';

export interface TurnServiceOptions extends ServiceOptions {
  /** How many workers beside the API; 0 leaves turns queued until `startWorker`. */
  workers?: number;
  /** Fields of the model's catalogue entry that differ from the tests' own. */
  model?: Partial<ModelEntry>;
  /** Options of the scripted model itself. */
  scripted?: Parameters<typeof startScriptedModel>[0];
}

/** A service whose turns run: with a worker, the run's Temporal server and a scripted model. */
export interface TurnService extends TestService {
  model: ScriptedModel;
  /** Those that were started, first one first. */
  workers: readonly RunningWorker[];
  startWorker(config?: Partial<Config>): Promise<RunningWorker>;
  /** A new session of the scripted model; returns its id. */
  session(body?: Record<string, unknown>): Promise<string>;
  /** Sends a message, expects 201, returns the turn's id. */
  send(sessionId: string, content: string, more?: Record<string, unknown>): Promise<string>;
  /** Sends a message and waits for the end of its turn; returns the turn's events. */
  // oxlint-disable-next-line typescript/no-explicit-any -- tests look into events of many types
  run(sessionId: string, content: string): Promise<any[]>;
  stream(sessionId: string, lastEventId?: string): Promise<SseReader>;
  /** Waits until the session's last turn has ended; returns its terminal event. */
  // oxlint-disable-next-line typescript/no-explicit-any -- tests look into events of many types
  ended(sessionId: string, timeoutMs?: number): Promise<any>;
  /** Every stored event of the session, page by page. */
  // oxlint-disable-next-line typescript/no-explicit-any -- tests look into events of many types
  history(sessionId: string): Promise<any[]>;
}

/** Starts API, worker and scripted model in this process, on a database and a task queue of their own. */
export async function startTurnService(options: TurnServiceOptions = {}): Promise<TurnService> {
  const model = await startScriptedModel(options.scripted);
  const entry: ModelEntry = {
    id: 'scripted',
    display_name: 'Scripted',
    model: 'scripted-1',
    base_url: model.url,
    context_window: 200_000,
    max_output_tokens: 8_000,
    supports_thinking: true,
    ...options.model,
  };
  const config: Partial<Config> = {
    taskQueue: `turns-${randomUUID()}`,
    shutdownGraceSeconds: 1,
    ...options.config,
  };
  const service = await startService({ ...options, models: options.models ?? [entry], config });
  const workers: RunningWorker[] = [];
  const addWorker = async (own: Partial<Config> = {}): Promise<RunningWorker> => {
    const worker = await startWorker({ ...service.config, ...own }, testLogger('worker'));
    workers.push(worker);
    return worker;
  };
  for (let started = 0; started < (options.workers ?? 1); started += 1) await addWorker();

  // What is not about the wire goes through the typed client, as users go.
  const client = new AgentSessionClient({ baseUrl: service.url, apiKey: service.key, retryForMs: 0 });
  const turns: TurnService = {
    ...service,
    model,
    workers,
    startWorker: addWorker,
    async session(body = {}) {
      return (await client.createSession({ model_id: entry.id, ...body })).id;
    },
    async send(sessionId, content, more = {}) {
      return (await client.sendMessage(sessionId, { content, ...more })).turn_id;
    },
    async run(sessionId, content) {
      const turnId = await turns.send(sessionId, content);
      await turns.ended(sessionId);
      return (await turns.history(sessionId)).filter((event) => event.turn_id === turnId);
    },
    stream: (sessionId, lastEventId) =>
      openSse(`${service.url}/v1/sessions/${sessionId}/events/stream`, service.key, lastEventId),
    async ended(sessionId, timeoutMs = 100_000) {
      const until = performance.now() + timeoutMs;
      for (;;) {
        const session = await client.getSession(sessionId);
        if (session.status !== 'RUNNING' && session.status !== 'IDLE') {
          const events = await turns.history(sessionId);
          return events.findLast((event) => event.turn_id === session.last_turn_id);
        }
        if (performance.now() > until) throw new Error(`${sessionId} has not ended within ${timeoutMs} ms`);
        await new Promise((resolve) => setTimeout(resolve, 50));
      }
    },
    async history(sessionId) {
      const events = [];
      for await (const event of client.eachEvent(sessionId)) events.push(event);
      return events;
    },
    async close() {
      await Promise.all(workers.map((worker) => worker.close()));
      await service.close();
      await model.close();
    },
  };
  return turns;
}
