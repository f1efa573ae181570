import { randomUUID } from 'node:crypto';
import { startWorker, type RunningWorker } from '../../activities/main.js';
import type { Config } from '../../src/platform/config.js';
import type { ModelEntry } from '../../src/models/catalogue.js';
import { testLogger } from './log.js';
import { runService, type RunningService, type ServiceOptions } from './running-service.js';
import { startScriptedModel, type ScriptedModel } from './scripted-model.js';
import { TEST_MODEL } from './config.js';

export interface TurnServiceOptions extends ServiceOptions {
  /** How many workers beside the API; 0 leaves turns queued until `startWorker`. */
  workers?: number;
  /** Fields of the model's catalogue entry that differ from the tests' own. */
  model?: Partial<ModelEntry>;
  /** Options of the scripted model itself. */
  scripted?: Parameters<typeof startScriptedModel>[0];
}

/** What makes turns run. */
export interface Turns {
  model: ScriptedModel;
  /** Those that were started, first one first. */
  workers: readonly RunningWorker[];
  startWorker(config?: Partial<Config>): Promise<RunningWorker>;
}

export type RunningTurns = RunningService & Turns;

/** Starts API, worker and scripted model in this process, on a database and a task queue of their own. */
export async function runTurns(options: TurnServiceOptions): Promise<RunningTurns> {
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
