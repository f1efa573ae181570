import type { StepOutcome } from '../../src/steps/model-step.js';
import type { TurnInput } from '../contract.js';
import { TurnRun } from '../turn-run.js';

/** What a first run of an older build passed on to its second run. */
export interface SecondRunInput extends TurnInput {
  /** The run starts in the middle of the wait of `step`. */
  wait?: WaitingStep;
  /** Indices of the calls of `step` whose servers have asked the person. */
  asking?: number[];
  /** The run starts while `step` waits for a larger budget. */
  paused?: true;
}

interface WaitingStep {
  tools: string[];
  waiting: number[];
  /** Indices of the calls whose tasks are waited for before the answers. */
  tasks?: number[];
  /** The MCP servers of these calls, by their indices. Where it is absent, each task is polled alone. */
  taskServers?: Record<number, string | undefined>;
  /** Servers may ask questions while the calls run. */
  mayAsk?: true;
}

/** The run of a turn. Its input says whether it is the second run of a wait that an older build has begun (OldFirstRun). */
export function runOf(input: TurnInput): TurnRun {
  const { wait, asking, paused, ...rest }: SecondRunInput = input;
  return wait === undefined && paused === undefined ? new TurnRun(rest) : new SecondRun(rest, wait, asking, paused);
}

/** Waits on, and ends after its step: a third run continues the turn. */
class SecondRun extends TurnRun {
  constructor(
    input: TurnInput,
    private readonly wait: WaitingStep | undefined,
    asking: number[] | undefined,
    private readonly paused: true | undefined,
  ) {
    super(input, { asking, tools: wait?.tools });
    if (wait !== undefined) this.old = null;
  }

  /** The model call of the step is made, and its calls have run, or wait. */
  override async callModel(): Promise<StepOutcome> {
    if (this.wait === undefined) return super.callModel(this.paused);
    this.summary.steps = this.step;
    return { kind: 'tools', ...this.wait };
  }

  override async runTools(outcome: StepOutcome): Promise<void> {
    if (this.wait === undefined || outcome.kind !== 'tools') return super.runTools(outcome);
    const { tasks = [], taskServers } = this.wait;
    await Promise.all(tasks.map((index) => this.waitForTask(outcome.tools, index, taskServers?.[index])));
  }

  protected override isLastStep(): boolean {
    return this.wait !== undefined || super.isLastStep();
  }
}
