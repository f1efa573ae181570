import { expect } from 'chai';
import { openPollPlaces } from '../../../../activities/tools/mcp/tasks/places.js';
import type { FairQueue } from '../../../../src/platform/fair-queue.js';

describe('the places for polls of tasks', () => {
  const forever = (): Promise<never> => new Promise(() => undefined);
  const hang = (places: FairQueue, project: string, count: number): void => {
    for (let n = 0; n < count; n += 1) void places.tryWithin(project, forever);
  };

  it('the places for polls of tasks leave one for the first poll of each project, whatever the others have', async () => {
    const places = openPollPlaces(8);
    hang(places, 'a', 10);
    expect(await places.tryWithin('a', async () => 'polled'), 'more than half for one project').to.equal(null);
    hang(places, 'b', 10);
    expect(await places.tryWithin('b', async () => 'polled')).to.equal(null);
    expect(await places.tryWithin('c', async () => 'polled')).to.equal('polled');
  });

  it('the places for polls of tasks are all that polls get', async () => {
    const places = openPollPlaces(2);
    hang(places, 'a', 1);
    hang(places, 'b', 1);
    expect(await places.tryWithin('c', async () => 'polled')).to.equal(null);
  });

  it('the places for polls of tasks are free again after the poll, also after one that fails', async () => {
    const places = openPollPlaces(1);
    expect(await places.tryWithin('a', async () => 'polled')).to.equal('polled');
    const failed = await places.tryWithin('a', () => Promise.reject(new Error('away')))!.catch(() => 'failed');
    expect(failed).to.equal('failed');
    expect(await places.tryWithin('b', async () => 'polled')).to.equal('polled');
  });
});
