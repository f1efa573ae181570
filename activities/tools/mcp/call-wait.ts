import { ErrorCode, McpError } from '@modelcontextprotocol/sdk/types.js';
import type { FairQueue } from '../../../src/platform/fair-queue.js';
import type { Logger } from '../../../src/platform/logger.js';
import type { TurnWorkflows } from '../../../src/temporal/turn-workflows.js';
import type { CallPlace } from '../../../src/turns/facts.js';
import type { Pause } from '../tool-kind.js';

/** decisions.md "Elicitation": connections of a project in a process whose calls wait for a person. */
export const MAX_WAITING_CALLS = 500;

export interface ShowAskingDeps {
  workflows: Pick<TurnWorkflows, 'signalAsking'>;
  log: Logger;
}

interface WaitingCall extends CallPlace {
  projectId: string;
}

/** The wait of one call for a person: it begins with the first open question, and is over when no question is open. */
export class CallWait {
  #asked = 0;
  #open = 0;
  #shown = Promise.resolve();
  #goOn: ReturnType<Pause['begin']> = () => Promise.resolve();

  constructor(
    private readonly deps: ShowAskingDeps & { waitingCalls: FairQueue },
    private readonly call: WaitingCall,
    private readonly pause: Pause,
  ) {}

  /** Counts the connection before a question is stored, until the returned function runs. @throws McpError -32602 */
  ask(): () => void {
    const { waitingCalls } = this.deps;
    if (this.#asked === 0 && !waitingCalls.tryTake(this.call.projectId)) {
      const text = `This project has ${MAX_WAITING_CALLS} calls that wait for a person here. Ask again later, or use a task.`;
      throw new McpError(ErrorCode.InvalidParams, text);
    }
    this.#asked += 1;
    return () => {
      this.#asked -= 1;
      if (this.#asked === 0) waitingCalls.free(this.call.projectId);
    };
  }

  /** A question is open. The returned function ends it, and waits until the call may go on. */
  begin(): (signal: AbortSignal) => Promise<void> {
    this.#open += 1;
    if (this.#open === 1) {
      this.#goOn = this.pause.begin();
      this.#show(true);
    }
    return async (signal) => {
      this.#open -= 1;
      if (this.#open > 0) return;
      this.#show(false);
      await this.#goOn(signal);
    };
  }

  #show(asks: boolean): void {
    this.#shown = this.#shown.then(() => showAsking(this.deps, this.call, asks));
  }
}

/**
 * Shows in Temporal that a call waits for a person, or no longer. A signal that is lost costs nothing else: the turn is not
 * found by `WaitsFor`, or is found until the call ends.
 */
export async function showAsking(
  { workflows, log }: ShowAskingDeps,
  { turnId, step, index }: CallPlace,
  asks: boolean,
): Promise<void> {
  await workflows
    .signalAsking(turnId, { step, index, asks })
    .catch((err: unknown) =>
      log.debug({ err, turn_id: turnId }, 'Temporal does not show that a call waits for a person'),
    );
}
