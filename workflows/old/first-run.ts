import { condition, patched, sleep } from '@temporalio/workflow';

/** The tasks that a run waits for. */
interface Tasks {
  open: number[];
  /** Cancels the polls, and begins no more of them. */
  stop: () => void;
  isPolling: () => boolean;
}

/**
 * The first run of a turn, as builds before 26 November 2026 made it: when a wait had lasted for a minute the run ended, and a second
 * one waited on. The timer of a wait for tasks is in its history, so it starts again on replay, and the run ends as its history does. In
 * a run that is still open the timer has no effect. docs/operations/workflow-changes.md ("A wait in several runs") says when to
 * delete this folder.
 */
export class OldFirstRun {
  /** Rejects with the end of the run. Pending in all other runs. */
  readonly end: Promise<never>;
  #reject!: (end: unknown) => void;
  #hasTimer = false;

  /** @param isBusy true while the workflow has other activities, which a new run would lose */
  constructor(
    private readonly tasks: Tasks,
    private readonly isBusy: () => boolean,
    private readonly continueAsNew: () => Promise<never>,
  ) {
    this.end = new Promise((_, reject) => (this.#reject = reject));
  }

  /** The timer of a wait for answers has fired: ends the run if it was not the one for their expiry. */
  async onTimer(wait: { expiresInMs: number }): Promise<void> {
    if (longWaitMsOf(wait) < wait.expiresInMs && isInHistory()) await this.continueAsNew();
  }

  /** Starts the timer of a wait for tasks, if the activity has named its time. */
  beginTask(task: object): void {
    const longWaitMs = longWaitMsOf(task);
    if (longWaitMs === Infinity || this.#hasTimer) return;
    this.#hasTimer = true;
    // The timer fails when the workflow is cancelled.
    this.#endAfter(longWaitMs).catch(() => undefined);
  }

  async #endAfter(longWaitMs: number): Promise<void> {
    do {
      await sleep(longWaitMs);
      if (!isInHistory()) return;
    } while (this.isBusy());
    if (this.tasks.open.length === 0) {
      this.#hasTimer = false;
      return;
    }
    this.tasks.stop();
    await condition(() => !this.tasks.isPolling());
    await this.continueAsNew().catch(this.#reject);
  }
}

/** Results of activities of older builds name the time after which the run ended. */
function longWaitMsOf(result: object): number {
  return (result as { longWaitMs?: number }).longWaitMs ?? Infinity;
}

/** True only on replay of a run that has gone beyond its timer already. */
function isInHistory(): boolean {
  return !patched('wait-in-one-run');
}
