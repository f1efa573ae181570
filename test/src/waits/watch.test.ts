import { expect } from 'chai';
import { AnswerWatch } from '../../../src/waits/watch.js';

const forever = new AbortController().signal;

describe('the watch of open questions', () => {
  const asked: string[][] = [];
  let closed: string[] = [];
  let answers: AnswerWatch;

  beforeEach(() => {
    asked.length = 0;
    closed = [];
    answers = new AnswerWatch((ids) => (asked.push(ids), Promise.resolve(closed)));
  });
  afterEach(() => answers.close());

  it('the watch of open questions keeps a notification that comes before the wait', async () => {
    const watch = answers.watch('q1');
    answers.notify('q1');
    await watch.next(60_000, forever);
    const stop = new AbortController();
    const next = watch.next(60_000, stop.signal);
    stop.abort();
    await next;
    watch.close();
  });

  it('the watch of open questions finds the answers of lost notifications with one query for all questions', async () => {
    await answers.check();
    expect(asked, 'no question is open').to.deep.equal([]);
    const watches = ['q1', 'q2', 'q3'].map((id) => answers.watch(id));
    const woken: number[] = [];
    const waits = watches.map((watch, n) => watch.next(60_000, forever).then(() => woken.push(n)));
    closed = ['q2'];
    await answers.check();
    await waits[1];
    expect(asked).to.deep.equal([['q1', 'q2', 'q3']]);
    expect(woken).to.deep.equal([1]);
    for (const id of ['q1', 'q3']) answers.notify(id);
    await Promise.all(waits);
    for (const watch of watches) watch.close();
    await answers.check();
    expect(asked).to.have.length(1);
  });
});
