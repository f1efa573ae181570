/** Signals that request a graceful shutdown. */
const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

export class Shutdown {
  readonly #parts: { name: string; stop: () => Promise<void> }[] = [];
  #request!: () => void;
  #requested = false;
  readonly requested = new Promise<void>((resolve) => {
    this.#request = () => {
      this.#requested = true;
      resolve();
    };
  });

  /** From now on a signal requests the shutdown instead of killing the process. Further signals have no effect. */
  constructor() {
    for (const signal of SIGNALS) process.on(signal, this.#request);
  }

  get isRequested(): boolean {
    return this.#requested;
  }

  /**
   * Starts a part and remembers how to stop it.
   * @throws Interrupted if the shutdown was already requested
   */
  async bringUp<T>(name: string, start: () => Promise<T>, stop: (part: T) => Promise<void>): Promise<T> {
    if (this.#requested) throw new Interrupted();
    const part = await start();
    this.#parts.push({ name, stop: () => stop(part) });
    return part;
  }

  /** Stops all parts, the last one first. If a part fails to stop, the others are stopped all the same. */
  async takeDown(onFault: (name: string, error: unknown) => void): Promise<void> {
    this.#request();
    for (const { name, stop } of this.#parts.splice(0).reverse()) {
      await stop().catch((error: unknown) => onFault(name, error));
    }
  }
}

/** The shutdown was requested during the start. */
export class Interrupted extends Error {}
