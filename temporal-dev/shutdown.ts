/** Signals that ask a process to end in good order. */
const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

/** The parts that were brought up, and the wish to take them down again. */
export class Shutdown {
  readonly #parts: { name: string; stop: () => Promise<void> }[] = [];
  #request!: () => void;
  #requested = false;
  /** Resolves when somebody wants everything to end. */
  readonly requested = new Promise<void>((resolve) => {
    this.#request = () => {
      this.#requested = true;
      resolve();
    };
  });

  /** From now on a signal only asks; asking again changes nothing. */
  constructor() {
    for (const signal of SIGNALS) process.on(signal, this.#request);
  }

  get isRequested(): boolean {
    return this.#requested;
  }

  /**
   * Brings a part up and remembers how to take it down.
   * @throws Interrupted when the end was asked for before
   */
  async bringUp<T>(name: string, start: () => Promise<T>, stop: (part: T) => Promise<void>): Promise<T> {
    if (this.#requested) throw new Interrupted();
    const part = await start();
    this.#parts.push({ name, stop: () => stop(part) });
    return part;
  }

  /** Takes everything down, the last part first. A part that fails to stop does not keep the others. */
  async takeDown(onFault: (name: string, error: unknown) => void): Promise<void> {
    this.#request();
    for (const { name, stop } of this.#parts.splice(0).reverse()) {
      await stop().catch((error: unknown) => onFault(name, error));
    }
  }
}

/** The end was asked for while things were still coming up. */
export class Interrupted extends Error {}
