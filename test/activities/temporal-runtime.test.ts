import { ApplicationFailure } from '@temporalio/common';
import { expect } from 'chai';
import { levelOf } from '../../activities/temporal-runtime.js';

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
});
