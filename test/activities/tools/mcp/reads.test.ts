import { expect } from 'chai';
import { Reads } from '../../../../activities/tools/mcp/tasks/reads.js';

/** decisions.md "Tasks and elicitation": the results of tasks that one attempt reads. */
describe('the results of tasks that are read at the same time', () => {
  const forever = new AbortController().signal;
  const tasks = (...lostReads: number[]) => lostReads.map((lost, index) => ({ index, task: { lostReads: lost } }));
  /** Begins these, and all that are left when some have been read. Returns the groups in which they were read. */
  async function groupsOf(left: ReturnType<typeof tasks>): Promise<number[][]> {
    const reads = new Reads();
    const groups: number[][] = [];
    while (left.length > 0) {
      const ends: (() => void)[] = [];
      const group: number[] = [];
      reads.begin(left, ({ index }) => {
        group.push(index);
        return new Promise((resolve) => ends.push(resolve));
      });
      groups.push(group);
      left = left.filter(({ index }) => !group.includes(index));
      ends.forEach((end) => end());
      await reads.settled();
    }
    return groups;
  }

  it('the results of tasks that are read at the same time are 16', async () => {
    const sizes = (await groupsOf(tasks(...Array<number>(40).fill(0)))).map(({ length }) => length);
    expect(sizes).to.deep.equal([16, 16, 8]);
  });

  it('the results of tasks that are read at the same time are never those that may have taken a worker down, which come last', async () => {
    expect(await groupsOf(tasks(2, 0, 1, 0))).to.deep.equal([[1, 3], [2], [0]]);
  });

  it('the results of tasks that are read at the same time wait for one of them, and no longer than the pause; an error of one is thrown', async () => {
    const reads = new Reads();
    let end = (): void => undefined;
    reads.begin(tasks(0, 0), ({ index }) =>
      index === 0 ? new Promise((resolve) => (end = resolve)) : new Promise(() => undefined),
    );
    await reads.untilOneOr(1, forever);
    expect([...reads.indices]).to.deep.equal([0, 1]);
    end();
    await reads.untilOneOr(60_000, forever);
    expect([...reads.indices]).to.deep.equal([1]);
    const cancelled = new Error('cancelled');
    expect(await reads.untilOneOr(60_000, AbortSignal.abort(cancelled)).catch((error: unknown) => error)).to.equal(cancelled); // oxfmt-ignore
    const lost = new Error('Postgres is away');
    const fail = (): Promise<never> => Promise.reject(lost);
    reads.begin([{ index: 2, task: { lostReads: 0 } }], fail);
    expect(await reads.untilOneOr(60_000, forever).catch((error: unknown) => error)).to.equal(lost);
    const others = new Reads();
    others.begin(tasks(0), fail);
    await others.settled();
    expect(await others.untilOneOr(60_000, forever).catch((error: unknown) => error)).to.equal(lost);
  });
});
