import type { ConnectionLike } from '@temporalio/client';
import type { DataSource } from 'typeorm';
import type { Config } from '../src/platform/config.js';
import type { ModelCatalogue } from '../src/models/catalogue.js';
import { Feed } from '../src/stream/feed.js';
import { Notifier } from '../src/stream/notify.js';
import type { Logger } from '../src/platform/logger.js';
import { connectLazily } from '../src/temporal/connection.js';
import type { TurnWorkflows } from '../src/temporal/turn-workflows.js';
import { startTurnReconciler, type TurnReconciler } from '../src/reconciler/start.js';
import type { Schedules } from '../src/schedules/open.js';
import { OpenStreams } from './events/open-streams.js';

export interface TurnParts {
  notifier: Notifier;
  workflows: TurnWorkflows;
  schedules: Schedules;
  feed: Feed;
  streams: OpenStreams;
  health: TurnReconciler['health'];
}

/** A worker in this process: its turns start eagerly on the connection, and readers get at once what it sends. */
export interface SharedWorker {
  connection: ConnectionLike;
  notifier: Notifier;
}

export function openTurnParts(
  config: Config,
  { db, upkeep, models, log }: { db: DataSource; upkeep: DataSource; models: ModelCatalogue; log: Logger },
  shared?: SharedWorker,
): { parts: TurnParts; close(): Promise<void> } {
  const connection = shared?.connection ?? connectLazily();
  const notifier = new Notifier(db, log);
  const reconciler = startTurnReconciler(config, {
    db,
    upkeep,
    notifier,
    models,
    log,
    connection,
    eager: shared !== undefined,
  });
  const feed = new Feed(config.databaseListenUrl, db, log);
  for (const one of shared === undefined ? [notifier] : [notifier, shared.notifier]) {
    one.alsoHere((payload) => feed.receive(payload));
  }
  const streams = new OpenStreams(db, config.maxStreamsPerProject, log);
  return {
    parts: {
      notifier,
      workflows: reconciler.workflows,
      schedules: reconciler.schedules,
      feed,
      streams,
      health: reconciler.health,
    },
    async close() {
      streams.close();
      await reconciler.close();
      await notifier.flush();
      await feed.close();
      if (shared === undefined) await connection.close();
    },
  };
}
