import type { Client } from '@temporalio/client';
import proto from '@temporalio/proto';
import { TURN_WORKFLOW } from '../../workflows/contract.js';

type Command = proto.temporal.api.command.v1.ICommand;
const { CommandType } = proto.temporal.api.enums.v1;

/** Ways for a workflow to end that this service's own never takes while its turn is open. */
export const CLOSING = {
  failed: {
    commandType: CommandType.COMMAND_TYPE_FAIL_WORKFLOW_EXECUTION,
    failWorkflowExecutionCommandAttributes: { failure: { message: 'test', applicationFailureInfo: { type: 'Test' } } },
  },
  completed: {
    commandType: CommandType.COMMAND_TYPE_COMPLETE_WORKFLOW_EXECUTION,
    completeWorkflowExecutionCommandAttributes: {},
  },
  cancelled: {
    commandType: CommandType.COMMAND_TYPE_CANCEL_WORKFLOW_EXECUTION,
    cancelWorkflowExecutionCommandAttributes: {},
  },
} satisfies Record<string, Command>;

/** What other code than this service's would have done first. */
export const WAITING: Command = {
  commandType: CommandType.COMMAND_TYPE_START_TIMER,
  startTimerCommandAttributes: { timerId: 'other', startToFireTimeout: { nanos: 1_000_000 } },
};

/** Starts a workflow under a turn's id that ends in that way at its first task. */
export async function startClosing(client: Client, turnId: string, command: Command): Promise<void> {
  const taskQueue = `closing-${turnId}`;
  await client.workflow.start(TURN_WORKFLOW, { workflowId: turnId, taskQueue, args: [{ turnId }] });
  await answerFirstTask(client, taskQueue, command);
}

/** Does the next workflow task of a queue that no worker polls yet, with that command. */
export async function answerFirstTask(client: Client, taskQueue: string, command: Command): Promise<void> {
  const { taskToken } = await client.withDeadline(Date.now() + 20_000, () =>
    client.workflowService.pollWorkflowTaskQueue({
      namespace: 'default',
      taskQueue: { name: taskQueue },
      identity: 'test',
    }),
  );
  await client.workflowService.respondWorkflowTaskCompleted({
    namespace: 'default',
    taskToken,
    identity: 'test',
    commands: [command],
  });
}

/** Starts one under a turn's id that times out at once. */
export async function startTimingOut(client: Client, turnId: string): Promise<void> {
  await client.workflow.start(TURN_WORKFLOW, {
    workflowId: turnId,
    taskQueue: `nobody-${turnId}`,
    args: [{ turnId }],
    workflowExecutionTimeout: '1 s',
  });
}
