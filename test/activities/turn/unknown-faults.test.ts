import { randomUUID } from 'node:crypto';
import { fileURLToPath } from 'node:url';
import { Context } from '@temporalio/activity';
import type { ApplicationFailure } from '@temporalio/common';
import { NativeConnection, Worker } from '@temporalio/worker';
import { expect } from 'chai';
import type { ActivityDeps } from '../../../activities/deps.js';
import { installTemporalRuntime } from '../../../activities/temporal-runtime.js';
import { runActivity } from '../../../activities/turn/run-activity.js';
import { createLogger } from '../../../src/platform/logger.js';
import { AbortableActivities } from '../../../src/turns/abortable-activities.js';
import { OvertakenError } from '../../../src/turns/errors.js';
import type { TurnInput } from '../../../workflows/contract.js';
import { temporalAddress } from '../../support/temporal.js';
import { connectClient } from '../../support/workflow-history.js';

const BUNDLE = fileURLToPath(new URL('../../../dist/workflow-bundle.js', import.meta.url));

describe('unexpected errors of an activity', () => {
  it('unexpected errors of an activity are counted over its attempts, outages are not', async () => {
    const address = await temporalAddress();
    const taskQueue = `faults-${randomUUID()}`;
    // The first use of Temporal's runtime fixes its options for the process.
    await installTemporalRuntime(createLogger('silent', 'test'));
    const connection = await NativeConnection.connect({ address });
    const counted: unknown[] = [];
    const faults = [new Error('A bug.'), new Error('Connection terminated'), new OvertakenError('turn_1'), null];
    const delays: unknown[] = [];
    // Neither Postgres nor notifications are used: there is no cancel request.
    const deps = {
      log: createLogger('silent', 'test'),
      abortableActivities: new AbortableActivities(),
      workerId: 'a-test',
    } as ActivityDeps;
    const callModel = () =>
      runActivity(deps, { turn_id: 'turn_1' }, async () => {
        counted.push(Context.current().info.heartbeatDetails);
        const fault = faults.shift();
        if (fault != null) throw fault;
        return { kind: 'ended', state: 'completed', stopReason: 'end_turn' };
      }).catch((failure: ApplicationFailure) => {
        delays.push(failure.nextRetryDelay);
        throw failure;
      });
    const worker = await Worker.create({
      connection,
      taskQueue,
      workflowBundle: { codePath: BUNDLE },
      activities: { callModel },
    });
    const { client, close } = await connectClient(address);
    const place = { id: 'turn_1', sessionId: 'ses_1', modelId: 'm', details: '', searchable: false };
    const input: TurnInput = { ...place, mcpServers: 0, maxSteps: 5, remainingMs: 60_000 };
    const workflowId = randomUUID();
    const result: unknown = await worker.runUntil(
      client.workflow.execute('turn', { workflowId, taskQueue, args: [input] }),
    );
    await Promise.all([connection.close(), close()]);
    expect(counted).to.deep.equal([
      undefined,
      { unknownFaults: 1, endedAttempts: 1 },
      { unknownFaults: 1, endedAttempts: 2 },
      { unknownFaults: 1, endedAttempts: 3 },
    ]);
    // What has nothing to do with the activity does not wait for Temporal's backoff, which counts all attempts.
    expect(delays).to.deep.equal([undefined, '1 s', '1 s']);
    expect(result).to.deep.equal({ state: 'completed', stop_reason: 'end_turn', steps: 1 });
  });
});
