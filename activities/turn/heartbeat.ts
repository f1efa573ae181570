/** Temporal gets a heartbeat every 6 s at most (the worker's throttle). */
const HEARTBEAT_INTERVAL_MS = 1000;
/** While a call waits for a person. A heartbeat may be missing for 90 s. */
const SLOW_HEARTBEAT_INTERVAL_MS = 30_000;

/** Beats from the entry of an activity to its end. */
export class Heartbeat {
  #timer: NodeJS.Timeout;
  #slow = 0;
  #isStopped = false;

  constructor(private readonly beat: () => void) {
    this.#timer = setInterval(beat, HEARTBEAT_INTERVAL_MS);
  }

  /** Beats less often until the returned function runs. */
  beatSlowly(): () => void {
    this.#slow += 1;
    this.#restart();
    return () => {
      this.#slow -= 1;
      this.#restart();
    };
  }

  stop(): void {
    this.#isStopped = true;
    clearInterval(this.#timer);
  }

  #restart(): void {
    clearInterval(this.#timer);
    if (this.#isStopped) return;
    this.beat();
    this.#timer = setInterval(this.beat, this.#slow > 0 ? SLOW_HEARTBEAT_INTERVAL_MS : HEARTBEAT_INTERVAL_MS);
  }
}
