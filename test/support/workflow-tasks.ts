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

/** Starts a workflow under a turn's id that ends in that way at its first task. */
export async function startClosing(client: Client, turnId: string, command: Command): Promise<void> {
  const taskQueue = `closing-${turnId}`;
  await client.workflow.start(TURN_WORKFLOW, { workflowId: turnId, taskQueue, args: [{ turnId }] });
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
