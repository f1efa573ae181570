import type { Logger } from './logger.js';
import { repeat } from './repeat.js';

/** What the leader of the processes does again and again. */
export interface Round<Deps> {
  /** In the log. */
  readonly name: string;
  readonly everyMs: number;
  /** May return the ms until the next round, if that is sooner: 0 while there is more to do. */
  run(deps: Deps): Promise<number | null | void>;
}

interface Leader {
  readonly isHeld: boolean;
  release(): Promise<void>;
}

/**
 * Starts each round in a loop of its own, so that a Temporal that is away does not delay those that need only Postgres. Only the
 * process that holds the lease runs them. Returns a function that stops after the rounds under way and gives the lease back.
 */
export function startRounds<Deps extends { log: Logger }>(
  rounds: readonly Round<Deps>[],
  deps: Deps,
  leader: Leader,
): () => Promise<void> {
  const running = rounds.map((round) =>
    repeat(round.everyMs, async () => {
      try {
        return Math.min(round.everyMs, (leader.isHeld ? await round.run(deps) : null) ?? round.everyMs);
      } catch (err) {
        deps.log.warn({ err, task: round.name }, 'a round of the reconciler failed; the next one tries again');
        return round.everyMs;
      }
    }),
  );
  return async () => {
    await Promise.all(running.map((each) => each.stop()));
    await leader.release();
  };
}
