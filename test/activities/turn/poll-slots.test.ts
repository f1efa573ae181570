import { expect } from 'chai';
import { PollSlots } from '../../../activities/turn/poll-slots.js';

describe('the slots for polls of tasks', () => {
  const forever = (): Promise<never> => new Promise(() => undefined);
  const hang = (slots: PollSlots, project: string, count: number): void => {
    for (let n = 0; n < count; n += 1) void slots.within(project, forever);
  };

  it('the slots for polls of tasks leave one for the first poll of each project, whatever the others have', async () => {
    const slots = new PollSlots(8);
    hang(slots, 'a', 10);
    expect(await slots.within('a', async () => 'polled'), 'more than half for one project').to.equal(null);
    hang(slots, 'b', 10);
    expect(await slots.within('b', async () => 'polled')).to.equal(null);
    expect(await slots.within('c', async () => 'polled')).to.equal('polled');
  });

  it('the slots for polls of tasks are all that polls get', async () => {
    const slots = new PollSlots(2);
    hang(slots, 'a', 1);
    hang(slots, 'b', 1);
    expect(await slots.within('c', async () => 'polled')).to.equal(null);
  });

  it('the slots for polls of tasks are free again after the poll, also after one that fails', async () => {
    const slots = new PollSlots(1);
    expect(await slots.within('a', async () => 'polled')).to.equal('polled');
    const failed = await slots.within('a', () => Promise.reject(new Error('away'))).catch(() => 'failed');
    expect(failed).to.equal('failed');
    expect(await slots.within('b', async () => 'polled')).to.equal('polled');
  });
});
