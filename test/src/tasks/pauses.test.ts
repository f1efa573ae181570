import { expect } from 'chai';
import { pollPause, projectPause, untilPoll } from '../../../src/tasks/pauses.js';

const task = { pollMs: 3000, ageMs: 10_000, storedAgoMs: 9000, askedAgoMs: 500 };

describe('the pause between polls of a task', () => {
  it('the pause between polls of a task is what its server asks for, and a minute after ten minutes', () => {
    expect(pollPause(task, 1)).to.equal(3000);
    expect(pollPause({ ...task, ageMs: 600_001 }, 1)).to.equal(60_000);
  });

  it('the pause between polls of a task grows with the open tasks of the project, so that these have 20 polls a second together', () => {
    expect(pollPause(task, 60)).to.equal(3000);
    expect(pollPause(task, 100)).to.equal(5000);
    expect(pollPause(task, 500)).to.equal(25_000);
    expect(pollPause({ ...task, ageMs: 600_001 }, 500)).to.equal(60_000);
    expect(500 / (projectPause(500) / 1000)).to.equal(20);
  });

  it('the pause between polls of a task begins with the last poll; before the first one it is a second, or longer beside many tasks', () => {
    expect(untilPoll(task, 1)).to.equal(2500);
    expect(untilPoll({ ...task, askedAgoMs: null }, 1)).to.equal(-8000);
    expect(untilPoll({ ...task, askedAgoMs: null, storedAgoMs: 200 }, 1)).to.equal(800);
    expect(untilPoll({ ...task, askedAgoMs: null, storedAgoMs: 200 }, 500)).to.equal(24_800);
  });
});
