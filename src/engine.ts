import { randomUUID } from 'node:crypto';
import type { ConnectionLike } from '@temporalio/client';
import type { Database } from './db/db.js';
import type { Config } from './platform/config.js';
import type { Notifier } from './stream/notify.js';
import type { Logger } from './platform/logger.js';
import { Lease } from './db/lease.js';
import { observeService } from './db/database-metrics.js';
import './turns/gauges.js';
import './reconciler/gauges.js';
import { reconcileActions } from './platform/metrics.js';
import { stateOf, type PartStates } from './platform/readiness.js';
import type { FireDeps } from './schedules/fire.js';
import { openSchedules, type Schedules } from './schedules/open.js';
import { createTemporalClient, temporalSettings } from './temporal/connection.js';
import { ensureSearchAttributes } from './temporal/search-attributes.js';
import { isReachable, readBacklogs } from './temporal/health.js';
import { createTurnWorkflows, type TurnWorkflows } from './temporal/turn-workflows.js';
import { startRounds, type Round } from './platform/rounds.js';
import { raisedBudgets } from './waits/raised-budgets.js';
import { childNews } from './delegations/relay.js';
import { childWaits, orphanedChildren } from './delegations/rounds.js';
import { staleErasures, type ErasureRoundDeps } from './erasures/round.js';
import { createErasureWorkflows, type ErasureWorkflows } from './temporal/erasure-workflows.js';
import { authorizedWaits } from './waits/authorized-waits.js';
import { closedWorkflows } from './reconciler/closed-workflows.js';
import type { ReconcileDeps } from './reconciler/deps.js';
import { endedTurns } from './reconciler/ended-turns.js';
import { overdueCancels } from './reconciler/overdue-cancels.js';
import { staleTurns } from './reconciler/stale-turns.js';
import { rowBytes } from './sessions/row-bytes.js';
import { deltaPartitions } from './stream/delta-partitions.js';
import { deadTokenStreams } from './stream/token-streams.js';
import { crashedWorkers } from './workers/takeover.js';
import { countWorkers } from './workers/workers.js';
import { MAX_CHILDREN, MAX_WAIT_SECONDS } from './sessions/tools.js';

/** Added to a turn's own limit: Temporal's timeout is only a backstop. */
const EXECUTION_MARGIN_MS = 600_000;
const ATTRIBUTES_RETRY_MS = 10_000;

type RoundDeps = ReconcileDeps & ErasureRoundDeps & { leader: Lease };
/** What the leader does again and again, beside the rounds that keep something from one to the next. */
const ROUNDS: readonly Round<RoundDeps>[] = [
  ...[staleTurns, closedWorkflows, overdueCancels, crashedWorkers],
  ...[authorizedWaits, raisedBudgets, deltaPartitions, deadTokenStreams, rowBytes],
  ...[childNews, childWaits, orphanedChildren],
  staleErasures,
];

/** In each process: starts the workflows of turns, and reconciles turns if this process becomes the leader. */
export interface TurnEngine {
  workflows: TurnWorkflows;
  schedules: Schedules;
  erasures: ErasureWorkflows;
  health: () => Promise<Omit<PartStates, 'postgres' | 'sandbox' | 'sandbox_limits'>>;
  /** Whether the namespace has the search attributes. */
  searchable: () => boolean;
  close(): Promise<void>;
}

/**
 * `backgroundPool`: the pool for the lease and the rounds (src/db/data-source). `eager`: client and worker share this process and the
 * connection.
 */
export function openTurnEngine(
  config: Config,
  parts: {
    db: Database;
    backgroundPool: Database;
    notifier: Notifier;
    models: FireDeps['models'];
    log: Logger;
    connection: ConnectionLike;
    eager: boolean;
  },
): TurnEngine {
  const { db, backgroundPool, notifier, models, log, connection, eager } = parts;
  const { namespace } = temporalSettings();
  const client = createTemporalClient(connection);

  // Temporal refuses a start with an unknown search attribute. Until the check succeeds, turns start without them, so that
  // no message waits for Temporal.
  let searchable = false;
  let timer: NodeJS.Timeout | undefined;
  let closed = false;
  const checkAttributes = async (): Promise<void> => {
    const state = await ensureSearchAttributes(client, namespace, log);
    searchable = state === 'present';
    if (state === 'unknown' && !closed) timer = setTimeout(() => void checkAttributes(), ATTRIBUTES_RETRY_MS);
  };
  void checkAttributes();

  const workflows = createTurnWorkflows(client, {
    taskQueue: config.taskQueue,
    executionTimeoutMs: ({ mcpServers, agents }) => {
      // The waits of a step for answers and until a time go on beside each other.
      const waitSeconds =
        Math.max(config.actionTimeoutSeconds, MAX_WAIT_SECONDS) + (mcpServers > 0 ? config.taskTimeoutSeconds : 0);
      // A turn of another agent is waited for until its own end: in the worst case one after another.
      const turns = agents > 0 ? 1 + MAX_CHILDREN : 1;
      return turns * ((config.turnTimeoutSeconds + config.maxSteps * waitSeconds) * 1000 + EXECUTION_MARGIN_MS);
    },
    maxSteps: config.maxSteps,
    turnTimeoutMs: config.turnTimeoutSeconds * 1000,
    eager,
    searchable: () => searchable,
  });
  const erasures = createErasureWorkflows(client, config);
  const schedules = openSchedules(client, { config, db: backgroundPool, log, models, notifier, workflows }, config);
  const leader = new Lease(backgroundPool, {
    name: `reconciler:${namespace}`,
    holder: randomUUID(),
    durationMs: 2500,
    intervalMs: 1000,
  });
  const count = (action: string): void => reconcileActions.inc({ action });
  const deps: RoundDeps = {
    ...{ db: backgroundPool, notifier, workflows, erasures, log, config, count, leader },
    turnTimeoutMs: config.turnTimeoutSeconds * 1000,
  };
  const stopRounds = startRounds([...ROUNDS, endedTurns(), schedules.round], deps, leader);
  const stopObserving = observeService({
    db: backgroundPool,
    isLeader: () => leader.isHeld,
    readBacklogs: () => readBacklogs(client, namespace, config.taskQueue),
  });
  return {
    workflows,
    schedules,
    erasures,
    searchable: () => searchable,
    async health() {
      const [temporal, worker] = await Promise.all([
        stateOf(() => isReachable(client, namespace)),
        stateOf(async () => (await countWorkers(db, namespace, config.taskQueue)) > 0),
      ]);
      return { temporal, worker };
    },
    async close() {
      closed = true;
      clearTimeout(timer);
      stopObserving();
      await stopRounds();
    },
  };
}
