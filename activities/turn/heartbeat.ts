/** Temporal gets a heartbeat every 6 s at most (the worker's throttle). */
const HEARTBEAT_INTERVAL_MS = 1000;
/** While a call waits for a person. A heartbeat may be missing for 90 s. */
const RESTING_HEARTBEAT_INTERVAL_MS = 30_000;

/** Beats from the entry of an activity to its end. */
export class Heartbeat {
  #timer: NodeJS.Timeout;
  #rests = 0;
  #isStopped = false;

  constructor(private readonly beat: () => void) {
    this.#timer = setInterval(beat, HEARTBEAT_INTERVAL_MS);
  }

  rest(): () => void {
    this.#rests += 1;
    this.#restart();
    return () => {
      this.#rests -= 1;
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
    this.#timer = setInterval(this.beat, this.#rests > 0 ? RESTING_HEARTBEAT_INTERVAL_MS : HEARTBEAT_INTERVAL_MS);
  }
}
