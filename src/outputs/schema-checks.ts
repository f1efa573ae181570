import { once, setMaxListeners } from 'node:events';
import { Worker } from 'node:worker_threads';
import { FairQueue } from '../platform/fair-queue.js';
import { ignored } from '../platform/ignored.js';
import type { SchemaCheck } from './check-thread.js';

/** docs/decisions.md "Output schema": how long a check may take. */
export const CHECK_TIMEOUT_MS = 100;
/** A busy machine can hold a thread back for longer: a check is late if it is late twice. */
const ATTEMPTS = 2;
const MAX_THREADS = 2;
/** Memory of a thread: the validator, a schema of 32 KiB, a value of 256 KiB and its errors. */
const MAX_HEAP_MIB = 64;
/** Threads run compiled code. Tests run the sources but use the thread of `npm run build`. */
const THREAD = new URL(
  import.meta.url.endsWith('.ts') ? '../../dist/src/outputs/check-thread.js' : './check-thread.js',
  import.meta.url,
);

/**
 * Checks schemas of clients, and values by them, in threads: a regular expression can run for ever, and then its thread is
 * ended. One check of a project runs at a time, and the lines of the projects take turns: a slow schema delays its own project.
 */
export class SchemaChecks {
  readonly #places = new FairQueue({ total: MAX_THREADS, perProject: 1 });
  readonly #idle: Worker[] = [];
  readonly #closed = new AbortController();

  constructor() {
    // Each check that waits for a place listens.
    setMaxListeners(0, this.#closed.signal);
  }

  /** What is wrong with a schema, given as JSON text; null if values can be checked by it. */
  async checkSchema(projectId: string, schema: string): Promise<string | null> {
    const problems = await this.#check(projectId, { schema });
    if (problems === 'late') return `takes longer than ${CHECK_TIMEOUT_MS} ms to check`;
    return problems[0] ?? null;
  }

  /** What is wrong with a value, one line for each error; none if it is valid. The schema was checked before. */
  async checkValue(projectId: string, schema: string, value: string): Promise<string[]> {
    const problems = await this.#check(projectId, { schema, value });
    return problems === 'late' ? [`(the whole value): takes longer than ${CHECK_TIMEOUT_MS} ms to check`] : problems;
  }

  async close(): Promise<void> {
    this.#closed.abort(new Error('the checks of schemas are closed'));
    await Promise.all(this.#idle.splice(0).map((thread) => thread.terminate()));
  }

  #check(projectId: string, check: SchemaCheck): Promise<string[] | 'late'> {
    const runAll = async (): Promise<string[] | 'late'> => {
      for (let attempt = 1; ; attempt += 1) {
        const problems = await this.#run(check);
        if (problems !== 'late' || attempt === ATTEMPTS) return problems;
      }
    };
    return this.#places.within(projectId, runAll, this.#closed.signal);
  }

  async #run(check: SchemaCheck): Promise<string[] | 'late'> {
    const thread = this.#idle.pop() ?? (await startThread());
    const report = await reportOf(thread, check);
    if (report === 'late' || this.#closed.signal.aborted) await thread.terminate();
    else this.#idle.push(thread);
    return report;
  }
}

async function startThread(): Promise<Worker> {
  const thread = new Worker(THREAD, { execArgv: [], resourceLimits: { maxOldGenerationSizeMb: MAX_HEAP_MIB } });
  await once(thread, 'message');
  // A thread that has ended is told of by its check, if it has one.
  thread.on('error', ignored('the check that ended the thread is late'));
  thread.unref();
  return thread;
}

/** `late` also if the check takes more memory than it may: that ends the thread. */
async function reportOf(thread: Worker, check: SchemaCheck): Promise<string[] | 'late'> {
  const settled = new AbortController();
  const { signal } = settled;
  const reported = once(thread, 'message', { signal }).then(
    ([report]) => report as string[],
    () => 'late' as const,
  );
  // After a pause of this thread the report may have arrived together with the timeout: reports are taken first.
  const timer = setTimeout(() => setImmediate(() => settled.abort()), CHECK_TIMEOUT_MS);
  thread.postMessage(check);
  try {
    return await reported;
  } finally {
    clearTimeout(timer);
  }
}
