import type { ConnectionLike } from '@temporalio/client';
import type { Database } from '../src/db/db.js';
import type { Config } from '../src/platform/config.js';
import type { ModelCatalogue } from '../src/models/catalogue.js';
import { Feed } from '../src/stream/feed.js';
import { Notifier } from '../src/stream/notify.js';
import type { Logger } from '../src/platform/logger.js';
import { connectLazily } from '../src/temporal/connection.js';
import type { ErasureWorkflows } from '../src/temporal/erasure-workflows.js';
import type { TurnWorkflows } from '../src/temporal/turn-workflows.js';
import { openTurnEngine, type TurnEngine } from '../src/engine.js';
import type { Schedules } from '../src/schedules/open.js';
import { TokenStreams } from '../src/stream/token-streams.js';
import { OpenStreams } from './events/open-streams.js';

export interface TurnServices {
  notifier: Notifier;
  workflows: TurnWorkflows;
  schedules: Schedules;
  erasures: ErasureWorkflows;
  feed: Feed;
  streams: OpenStreams;
  health: TurnEngine['health'];
}

/** A worker in this process: its turns start eagerly on the connection, and readers get at once what it sends. */
export interface SharedWorker {
  connection: ConnectionLike;
  notifier: Notifier;
}

export function openTurnServices(
  config: Config,
  { db, backgroundPool, models, log }: { db: Database; backgroundPool: Database; models: ModelCatalogue; log: Logger },
  shared?: SharedWorker,
): { parts: TurnServices; close(): Promise<void> } {
  const connection = shared?.connection ?? connectLazily();
  const notifier = new Notifier(db, log);
  const engine = openTurnEngine(config, {
    db,
    backgroundPool,
    notifier,
    models,
    log,
    connection,
    eager: shared !== undefined,
  });
  const feed = new Feed(config.databaseListenUrl, db, log);
  for (const one of shared === undefined ? [notifier] : [notifier, shared.notifier]) {
    one.alsoHere((sessionId, notification) => feed.receive(sessionId, notification));
  }
  const tokenStreams = new TokenStreams(db, backgroundPool);
  const streams = new OpenStreams(db, config.maxStreamsPerProject, tokenStreams, log);
  return {
    parts: {
      notifier,
      workflows: engine.workflows,
      schedules: engine.schedules,
      erasures: engine.erasures,
      feed,
      streams,
      health: engine.health,
    },
    async close() {
      streams.close();
      await tokenStreams.close();
      await engine.close();
      await notifier.flush();
      await feed.close();
      if (shared === undefined) await connection.close();
    },
  };
}
