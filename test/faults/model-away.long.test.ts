import { expect } from 'chai';
import { eventually } from '../support/eventually.js';
import { failure } from '../support/scripted-model.js';
import { useFaultSystem } from '../support/use.js';

/** With the settings as shipped, in real time (decisions.md "Results", "A model that is away"). */
describe('a model that is away for 60 s, and for 200 s', function () {
  this.timeout(400_000);
  const system = useFaultSystem();

  it('a model that is away for 60 s, and for 200 s delays turns and fails none; attempts are counted on when every process was killed', async () => {
    const begun = performance.now();
    const away = (seconds: number) => () =>
      performance.now() - begun < seconds * 1000 ? failure('overloaded_error') : 'Here I am.';
    system.model.on(/A minute/, away(60));
    system.model.on(/Longer/, away(200));
    const minute = await system.begin('A minute');
    const longer = await system.send(await system.session(), 'Longer');
    const watched = system.watch(longer);
    const stream = await system.stream(longer);
    await stream.until(({ event, data }) => event === 'agent.retry.delta' && data.attempt === 4);
    stream.close();
    // Readers see a failure a moment before it is recorded; one that a kill prevents from that is not counted.
    await eventually('the failure is recorded', async () => {
      const failed = `SELECT FROM model_calls WHERE turn_id = $1 AND error IS NOT NULL`;
      return (await system.db.query<unknown[]>(failed, [longer.turnId])).length === 4;
    });
    const processes = [...system.apis, ...system.workers];
    await Promise.all(processes.map((each) => each.kill()));
    await Promise.all(processes.map((each) => each.start()));
    for (const [turn, seconds] of [
      [minute, 60],
      [longer, 200],
    ] as const) {
      const end = await system.ended(turn, 300_000);
      expect(end).to.include({ type: 'turn.completed' });
      // The pauses are 30 s at most. The message was sent a moment after the model had gone.
      expect(end.timing.total_ms).to.be.within((seconds - 10) * 1000, (seconds + 45) * 1000);
    }
    await system.verify();
    const { frames } = await watched;
    const attempts = frames
      .filter(({ event }) => event === 'agent.retry.delta')
      .map(({ data }) => data.attempt as number);
    expect(attempts.slice(0, 4)).to.deep.equal([1, 2, 3, 4]);
    expect(attempts).to.deep.equal([...new Set(attempts)].sort((a, b) => a - b));
    expect(attempts.at(-1)).to.be.within(9, 12);
  });
});
