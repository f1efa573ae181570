import { expect } from 'chai';
import { failure } from '../support/scripted-model.js';
import { startTurnService, type TurnService } from '../support/turns.js';

/** With the settings as shipped, in real time (contract.md §13 "A model that is away"). */
describe('a model that is away for a minute, and for 200 s', () => {
  let service: TurnService;
  before(async () => {
    service = await startTurnService();
  });
  after(() => service.close());

  it('delays turns and fails none, also when the worker is replaced meanwhile', async function () {
    this.timeout(400_000);
    const begun = performance.now();
    const away = (seconds: number) => () =>
      performance.now() - begun < seconds * 1000 ? failure('overloaded_error') : 'Here I am.';
    service.model.on(/A minute/, away(60));
    service.model.on(/Longer/, away(200));
    const sessions: [string, number][] = [];
    for (const [content, seconds] of [
      ['A minute', 60],
      ['Longer', 200],
    ] as const) {
      const sessionId = await service.session({ thinking_enabled: false });
      await service.send(sessionId, content);
      sessions.push([sessionId, seconds]);
    }
    const stream = await service.stream(sessions[1]![0]);
    await stream.until(({ data }) => data.type === 'agent.retry.delta' && data.attempt === 4);
    await service.workers[0]!.close();
    await service.startWorker();
    for (const [sessionId, seconds] of sessions) {
      const end = await service.ended(sessionId, 300_000);
      expect(end).to.include({ type: 'turn.completed' });
      expect(end.timing.total_ms).to.be.within(seconds * 1000 - 1000, (seconds + 31) * 1000);
    }
    await stream.ended;
    const attempts = stream.frames.filter(({ event }) => event === 'agent.retry.delta').map(({ data }) => data.attempt);
    expect(attempts).to.deep.equal(attempts.map((_, n) => n + 1));
  });
});
