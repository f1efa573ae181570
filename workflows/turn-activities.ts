import { ActivityCancellationType, ApplicationFailure, proxyActivities } from '@temporalio/workflow';
import type { TurnActivities } from '../activities/turn/turn-activities.js';
import type { TurnInput } from './contract.js';

/** Heartbeat timeout for a worker that runs but has lost Temporal. A dead worker's lease expires within seconds. */
const HEARTBEAT_TIMEOUT = '90 s';
/** Tool calls of one step that run in parallel. A step with hundreds of calls must leave slots for other turns. */
const PARALLEL_TOOLS = 16;

/** The activities of one turn. The turn's remaining time is the timeout of each. */
export function turnActivities({ id: turnId, modelId, mcpServers, remainingMs: givenMs }: TurnInput) {
  let deadline = Date.now() + givenMs;
  const activity = (summary: string): TurnActivities => {
    const remainingMs = deadline - Date.now();
    if (remainingMs <= 0) throw ApplicationFailure.nonRetryable('The time of the turn is over.', 'turn_timeout');
    return proxyActivities<TurnActivities>({
      scheduleToCloseTimeout: remainingMs,
      heartbeatTimeout: HEARTBEAT_TIMEOUT,
      cancellationType: ActivityCancellationType.WAIT_CANCELLATION_COMPLETED,
      retry: { initialInterval: '1 s', backoffCoefficient: 2, maximumInterval: '30 s' },
      summary,
    });
  };

  return {
    connect: () => activity(`connect ${mcpServers} MCP servers`).connectMcpServers({ turnId }),

    async model(step: number) {
      const call = (compacted: boolean) =>
        activity(`model call ${step} · ${modelId}`).callModel({ turnId, step, compacted });
      const outcome = await call(false);
      if (outcome.kind !== 'compact') return outcome;
      await activity(`compact the context before model call ${step}`).compactContext({ turnId, step });
      return call(true);
    },

    async tools(step: number, tools: string[], indices: number[]) {
      for (let start = 0; start < indices.length; start += PARALLEL_TOOLS) {
        await Promise.all(
          indices
            .slice(start, start + PARALLEL_TOOLS)
            .map((index) => activity(`tool ${tools[index]}`).callTool({ turnId, step, index })),
        );
      }
    },

    /** The time a turn waited for answers does not count against its time limit. */
    setRemaining(remainingMs: number) {
      deadline = Date.now() + remainingMs;
    },

    left: () => ({ remainingMs: Math.max(0, deadline - Date.now()) }),
  };
}
