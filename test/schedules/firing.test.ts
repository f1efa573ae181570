import { expect } from 'chai';
import { eventually } from '../support/eventually.js';
import { createSchedule, inSeconds, newSchedule, ofSchedule, runsOf } from '../support/schedules.js';
import { startTurnService, type TurnService } from '../support/turns.js';

describe('schedules that fire', () => {
  let service: TurnService;
  before(async () => {
    service = await startTurnService();
    service.model.on(/Report/, 'Nothing is late.');
  });
  after(() => service.close());

  it('starts a turn in a new session at its time, and ends', async () => {
    const { id } = await createSchedule(service.api, newSchedule({ at: inSeconds(3) }, 'scripted'));
    await eventually('the end', async () => (await ofSchedule(service.api, 'GET', id)).state === 'ended');
    const ended = await ofSchedule(service.api, 'GET', id);
    expect(ended.next_runs_at).to.deep.equal([]);
    const [run, ...others] = await runsOf(service.api, id);
    expect(others).to.deep.equal([]);
    expect(run).to.deep.equal(ended.last_run);
    expect(run).to.include({ state: 'started', reason: null, scheduled_at: ended.at });
    expect(Date.parse(run.started_at) - Date.parse(run.scheduled_at)).to.be.within(-1000, 30_000);
    expect(await service.ended(run.session_id)).to.include({ type: 'turn.completed', turn_id: run.turn_id });
    const [message] = await service.history(run.session_id);
    expect(message).to.include({ type: 'user.message', content: 'Report.', schedule_id: id });
  });
});
