import { expect } from 'chai';
import { Pauses } from '../../../src/platform/pauses.js';

describe('Pauses', () => {
  it('pauses of several loops let one of them go on in each round of the event loop, in turn', async () => {
    const order: string[] = [];
    const loop = async (name: string): Promise<void> => {
      const pauses = new Pauses();
      for (let n = 0; n < 3; n += 1) {
        await pauses.take();
        order.push(name);
      }
    };
    let areDone = false;
    const loops = Promise.all(['a', 'b', 'c'].map(loop)).then(() => (areDone = true));
    const round = (): void => {
      order.push('|');
      if (!areDone) setImmediate(round);
    };
    setImmediate(round);
    await loops;
    const rounds = order.join('').split('|').filter(Boolean);
    expect(rounds.join('|')).to.equal('a|b|c|a|b|c|a|b|c');
  });
});
