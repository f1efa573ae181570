import type { DataSource } from 'typeorm';
import { runSql, sql } from '../db/sql.js';
import type { Logger } from '../platform/logger.js';
import type { Notifier } from '../stream/notify.js';
import type { StartableTurn } from '../temporal/turn-workflows.js';
import type { Ahead } from './launch.js';

/** The list of workers is read again after this time. Until then a worker that has died gets hints in vain. */
const WORKERS_KNOWN_MS = 2_000;

/** A message on the channel of a worker. */
export type AheadNotice =
  /** Begin the first step of this turn, if there is a free slot. */
  | { begin: StartableTurn }
  /** The activity that waits for the step is to end: end the step. */
  | { stop: string }
  /** An activity of another worker waits for the step. */
  | { waits: string; worker: string }
  /** The answer, when it has ended: the activity goes on. */
  | { ended: string };

/** The channel of a worker: the random part of its identity. */
export function channelOfWorker(workerId: string): string {
  return `ahead_${workerId.slice(-36).replaceAll('-', '_')}`;
}

/**
 * Has one of the living workers begin the first step of a turn. A hint that is lost costs nothing: the turn begins when
 * Temporal gives it to a worker.
 */
export class AheadHints implements Ahead {
  #workers: string[] = [];
  /** A read that is under way. */
  #reading: Promise<void> | null = null;
  #readAt = Number.NEGATIVE_INFINITY;

  constructor(
    private readonly deps: { db: DataSource; notifier: Notifier; log: Logger },
    private readonly place: { namespace: string; taskQueue: string },
  ) {}

  begin(turn: StartableTurn): null {
    if (turn.mcpServers > 0) return null;
    if (performance.now() - this.#readAt > WORKERS_KNOWN_MS) this.#reading = this.#read();
    if (this.#reading === null) this.#hint(turn);
    else void this.#reading.then(() => this.#hint(turn));
    return null;
  }

  #hint(turn: StartableTurn): void {
    const worker = this.#workers[Math.floor(Math.random() * this.#workers.length)];
    if (worker === undefined) return;
    const { id, sessionId, projectId, modelId, mcpServers, runningMs, trace } = turn;
    const begin = { id, sessionId, projectId, modelId, mcpServers, runningMs, trace };
    this.deps.notifier.send(channelOfWorker(worker), JSON.stringify({ begin } satisfies AheadNotice));
  }

  async #read(): Promise<void> {
    this.#readAt = performance.now();
    const { namespace, taskQueue } = this.place;
    const read = runSql<{ id: string }>(
      this.deps.db,
      sql`SELECT id FROM workers WHERE namespace = ${namespace} AND task_queue = ${taskQueue}
            AND until > clock_timestamp() AND dead_at IS NULL AND NOT is_draining`,
    );
    try {
      this.#workers = (await read).map(({ id }) => id);
    } catch (err) {
      this.deps.log.warn({ err }, 'the workers could not be read: no step runs ahead');
    }
    this.#reading = null;
  }
}
