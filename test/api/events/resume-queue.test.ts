import { expect } from 'chai';
import { streaming } from '../../support/open-turn.js';
import { useTurnService } from '../../support/use.js';

/** decisions.md "Messages while a turn runs": `Last-Event-ID` after the end of a turn leads to the turn that the queue started next. */
describe('a stream that goes on behind the end of a turn', () => {
  const service = useTurnService();

  it('a stream that goes on behind the end of a turn shows each turn of the queue in order, then nothing', async () => {
    const { sessionId, gate, turnId } = await streaming(service);
    const turns = [turnId];
    for (const content of ['Two', 'Three'])
      turns.push(await service.send(sessionId, content, { when_running: 'queue' }));
    gate.open();
    const seen: string[] = [];
    let last: string | undefined;
    for (let turn = 0; turn < 4; turn += 1) {
      const stream = await service.stream(sessionId, last);
      await stream.ended;
      const end = stream.frames.at(-1);
      if (end === undefined) break;
      seen.push(end.data.turn_id);
      last = end.id;
      if (turn === 0) await service.ended(sessionId);
    }
    expect(seen).to.deep.equal(turns);
  });
});
