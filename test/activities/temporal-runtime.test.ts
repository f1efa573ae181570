import { ApplicationFailure } from '@temporalio/common';
import { expect } from 'chai';
import { fieldsOf, levelOf, WorkflowsOfRuns } from '../../activities/temporal-runtime.js';

describe('a log line of the Temporal SDK', () => {
  const failed = (type: string): string =>
    levelOf({ level: 'WARN', message: 'Activity failed' }, ApplicationFailure.retryable('text', type));

  it('a log line of the Temporal SDK is information where an activity goes on in another attempt or ends with its turn as planned, and a warning where it failed', () => {
    expect(failed('HandedOver')).to.equal('info');
    expect(failed('ConcurrencyLimitReached')).to.equal('info');
    expect(failed('TurnEnded'), 'a person has cancelled the turn').to.equal('info');
    expect(failed('InternalError')).to.equal('warn');
    expect(levelOf({ level: 'WARN', message: 'Activity failed' }, new Error('text'))).to.equal('warn');
  });

  it('a log line of the Temporal SDK is for debugging where each start writes it', () => {
    expect(levelOf({ level: 'INFO', message: 'Worker state changed' }, undefined)).to.equal('debug');
    expect(
      levelOf({ level: 'INFO', message: 'No Nexus services registered, not polling for Nexus tasks' }, undefined),
    ).to.equal('debug');
    expect(levelOf({ level: 'ERROR', message: 'Worker failed' }, undefined)).to.equal('error');
  });

  it('a log line of the Temporal SDK about a failed workflow task names the turn and the error, without details', () => {
    const failure = (cause: string, type: string): string =>
      `Failure { failure: Some(Failure { message: "Invalid \\"millis\\" NaN\\nat all", source: "", stack_trace: "at run (turn.ts:7)", ` +
      `cause: None, failure_info: Some(ApplicationFailureInfo(ApplicationFailureInfo { r#type: "${type}", details: Some("secret") })) }), ` +
      `force_cause: ${cause} }`;
    const runs = new WorkflowsOfRuns();
    runs.note({ workflowId: 'turn_1', runId: 'run-1' });
    const { turn_id, err } = fieldsOf({ runId: 'run-1', failure: failure('Unspecified', 'TypeError') }, runs);
    expect(turn_id).to.equal('turn_1');
    expect(err)
      .to.be.instanceOf(Error)
      .and.include({ name: 'TypeError', message: 'Invalid "millis" NaN\nat all', stack: 'at run (turn.ts:7)' });
    const other = fieldsOf({ runId: 'run-2', failure: failure('NonDeterministicError', '') }, runs);
    expect(other.turn_id).to.equal(undefined);
    expect(other.err).to.include({ name: 'NonDeterministicError' });
    expect(JSON.stringify([err, other.err, (err as Error).stack])).to.not.contain('secret');
  });

  it('a log line of the Temporal SDK finds the workflows of the newest ten thousand runs', () => {
    const runs = new WorkflowsOfRuns();
    for (let n = 0; n <= 10_000; n += 1) runs.note({ workflowId: `turn_${n}`, runId: `run-${n}` });
    expect([runs.of('run-0'), runs.of('run-1'), runs.of('run-10000')]).to.deep.equal([
      undefined,
      'turn_1',
      'turn_10000',
    ]);
  });
});
