import { expect } from 'chai';
import { readCreatedTask } from '../../../src/mcp/tasks.js';

/** decisions.md "Tasks and elicitation": limits of a task's fields. */
describe('the task that a server creates', () => {
  const read = (task: object) => readCreatedTask({ task: { taskId: 't', status: 'working', ...task } });

  it('the task that a server creates has an id of at most 1,024 characters', () => {
    expect(read({ taskId: 'x'.repeat(1024) })!.taskId).to.have.length(1024);
    for (const length of [1025, 1024 * 1024]) {
      expect(() => read({ taskId: 'x'.repeat(length) })).to.throw('an id of more than 1024 characters');
    }
    for (const taskId of [undefined, '', 7, {}]) expect(() => read({ taskId })).to.throw('no id');
    expect(() => read({ taskId: 'a\0b' })).to.throw('cannot be stored');
  });

  it('the task that a server creates is asked for every 1 to 60 s, whatever interval the server wants', () => {
    const intervals = [0, -1, 1e-9, 999, 1500.4, 60_000, 60_001, Number.MAX_VALUE];
    const pauses = intervals.map((pollInterval) => read({ pollInterval })!.pollMs);
    expect(pauses).to.deep.equal([1000, 1000, 1000, 1000, 1500, 60_000, 60_000, 60_000]);
    for (const pollInterval of [undefined, null, '0', NaN, Infinity]) {
      expect(read({ pollInterval })!.pollMs, String(pollInterval)).to.equal(5000);
    }
  });

  it('the task that a server creates counts as working while its status is unknown', () => {
    for (const status of [undefined, 'done', 7, 'x'.repeat(1024)]) expect(read({ status })!.status).to.equal('working');
  });
});
