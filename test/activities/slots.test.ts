import { expect } from 'chai';
import { ActivitySlots } from '../../activities/activity-slots.js';
import { CallSlots } from '../../activities/call-slots.js';
import { openCommandPlaces } from '../../activities/command-places.js';
import { FairQueue } from '../../src/platform/fair-queue.js';
import { withinSlot } from '../../activities/slots.js';
import { CallWait } from '../../activities/tools/mcp/call-wait.js';
import type { ActivityDeps } from '../../activities/deps.js';

const forever = new AbortController().signal;
const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
const context = {} as Parameters<ActivitySlots['reserveSlot']>[0];

describe('slots that projects share', () => {
  it('slots that projects share go to the lines of the projects in turn, in each line to who came first', async () => {
    const queue = new FairQueue({ total: 1 });
    await queue.take('a', forever);
    const order: string[] = [];
    for (const name of ['a1', 'a2', 'a3', 'b1', 'c1', 'b2']) {
      void queue.take(name[0]!, forever).then(() => order.push(name));
    }
    for (const project of ['a', 'a', 'b', 'c', 'a', 'b']) {
      queue.free(project);
      await settled();
    }
    expect(order).to.deep.equal(['a1', 'b1', 'c1', 'a2', 'b2', 'a3']);
    expect(queue.used).to.equal(1);
  });

  it('slots that projects share pass over a project that has as many as it may', async () => {
    const queue = new FairQueue({ total: 2, perProject: 1 });
    expect(queue.tryTake('a') && queue.tryTake('b')).to.equal(true);
    const order: string[] = [];
    for (const project of ['a', 'c']) void queue.take(project, forever).then(() => order.push(project));
    queue.free('b');
    await settled();
    expect(order).to.deep.equal(['c']);
    queue.free('a');
    await settled();
    expect(order).to.deep.equal(['c', 'a']);
  });

  it('slots that projects share are not kept for who no longer waits, and nothing stays at the signal', async () => {
    const queue = new FairQueue({ total: 1 });
    await queue.take('a', forever);
    const stop = new AbortController();
    let listeners = 0;
    const { signal } = stop;
    const [add, remove] = [signal.addEventListener.bind(signal), signal.removeEventListener.bind(signal)];
    signal.addEventListener = (...args: Parameters<typeof add>) => ((listeners += 1), add(...args));
    signal.removeEventListener = (...args: Parameters<typeof remove>) => ((listeners -= 1), remove(...args));
    const first = queue.take('a', signal);
    queue.free('a');
    await first;
    expect(listeners).to.equal(0);
    const second = queue.take('a', signal).catch((error: unknown) => error);
    stop.abort(new Error('gone'));
    expect(await second).to.have.property('message', 'gone');
    queue.free('a');
    expect(queue.used).to.equal(0);
  });
});

describe('places for work that does not wait', () => {
  it('places for work that does not wait are given to it at once or not at all, and are free again after it, also if it fails', async () => {
    const queue = new FairQueue({ total: 1 });
    let end = (): void => undefined;
    const first = queue.tryWithin('a', () => new Promise<void>((resolve) => (end = resolve)));
    expect(queue.tryWithin('b', () => Promise.resolve())).to.equal(null);
    end();
    await first;
    const failed = queue
      .tryWithin('b', () => Promise.reject(new Error('away')))!
      .catch(({ message }: Error) => message);
    expect(await failed).to.equal('away');
    expect(await queue.tryWithin('a', () => Promise.resolve('done'))).to.equal('done');
    expect(queue.used).to.equal(0);
  });
});

describe('the slots of a process', () => {
  it('the slots of a process are waited for in the line of the project, which is read only then', async () => {
    const slots = new FairQueue({ total: 1 });
    const never = (): Promise<string> => Promise.reject(new Error('not needed while there is room'));
    let end = (): void => undefined;
    const running = withinSlot(slots, never, forever, () => new Promise<void>((resolve) => (end = resolve)));
    let hasBegun = false;
    const next = withinSlot(
      slots,
      () => Promise.resolve('b'),
      forever,
      async () => void (hasBegun = true),
    );
    await settled();
    expect([slots.used, hasBegun]).to.deep.equal([1, false]);
    end();
    await Promise.all([running, next]);
    expect([slots.used, hasBegun]).to.deep.equal([0, true]);
  });
});

describe('the slots that Temporal may use', () => {
  it('the slots that Temporal may use are one more for each activity that waits for a person', async () => {
    const slots = new ActivitySlots(1);
    expect(slots.tryReserveSlot()).to.deep.equal({});
    expect(slots.tryReserveSlot()).to.equal(null);
    const next = slots.reserveSlot(context, forever);
    slots.countWaiting(1);
    expect(await next).to.deep.equal({});
    const stop = new AbortController();
    const given = slots.reserveSlot(context, stop.signal).catch((error: unknown) => error);
    stop.abort(new Error('no longer needed'));
    expect(await given).to.have.property('message', 'no longer needed');
    slots.countWaiting(-1);
    slots.releaseSlot({});
    expect(slots.tryReserveSlot(), 'one is in use').to.equal(null);
    slots.markSlotUsed();
    expect(slots.counts).to.deep.equal({ free: 0, used: 1, waiting: 0 });
    slots.releaseSlot({ slotInfo: { type: 'activity', activityType: 'callTool' } });
    expect(slots.counts).to.deep.equal({ free: 1, used: 0, waiting: 0 });
    expect(slots.tryReserveSlot()).to.deep.equal({});
    slots.releaseSlot({});
    expect(slots.tryReserveSlot()).to.deep.equal({});
  });
});

describe('the slots of a call that waits for a person', () => {
  const start = (project = 'a') => {
    const [limit, slots, activitySlots] = [
      new FairQueue({ perProject: 1, total: 1 }),
      new FairQueue({ total: 1 }),
      new ActivitySlots(1),
    ];
    expect(limit.tryTake(project) && slots.tryTake(project)).to.equal(true);
    expect(activitySlots.tryReserveSlot()).to.not.equal(null);
    const callSlots = new CallSlots(project, { queues: [limit, slots], activitySlots });
    const used = (): number[] => [limit.used, slots.used];
    return { limit, slots, activitySlots, callSlots, used };
  };

  it('the slots of a call that waits for a person are free for others meanwhile, and taken again to go on', async () => {
    const { limit, activitySlots, callSlots, used } = start();
    expect(limit.tryTake('b')).to.equal(false);
    callSlots.pause();
    expect(used()).to.deep.equal([0, 0]);
    expect(activitySlots.tryReserveSlot()).to.not.equal(null);
    expect(limit.tryTake('b')).to.equal(true);
    let goesOn = false;
    const resumed = callSlots.resume(forever).then(() => (goesOn = true));
    await settled();
    expect(goesOn, 'while another has the place').to.equal(false);
    limit.free('b');
    await resumed;
    expect(used()).to.deep.equal([1, 1]);
    callSlots.close();
    callSlots.close();
    expect(used()).to.deep.equal([0, 0]);
    activitySlots.releaseSlot({});
    expect(activitySlots.tryReserveSlot(), 'as many as at first').to.equal(null);
  });

  it('the slots of a call that waits for a person are not taken by a call that waits again, was cancelled or has ended', async () => {
    const { limit, callSlots, used } = start();
    callSlots.pause();
    expect(limit.tryTake('b')).to.equal(true);
    const first = callSlots.resume(forever);
    callSlots.pause();
    await first;
    const stop = new AbortController();
    const second = callSlots.resume(stop.signal).catch((error: unknown) => error);
    await settled();
    stop.abort(new Error('cancelled'));
    expect(await second).to.have.property('message', 'cancelled');
    callSlots.pause();
    const third = callSlots.resume(forever);
    callSlots.close();
    limit.free('b');
    await third;
    expect(used()).to.deep.equal([0, 0]);
  });

  it('the slots of a call that waits for a person go back with the first open question, and come back with the last; a project has so many such calls', async () => {
    const log: string[] = [];
    const workflows = { signalAsking: () => Promise.resolve() } as unknown as ActivityDeps['workflows'];
    const deps = { waitingCalls: new FairQueue({ perProject: 1 }), workflows, log: {} as ActivityDeps['log'] };
    const pause = { begin: () => (log.push('pause'), async () => void log.push('go on')) };
    const place = { turnId: 't', step: 1, index: 0 };
    const wait = new CallWait(deps, { ...place, projectId: 'a' }, pause);
    const other = new CallWait(deps, { ...place, projectId: 'a' }, pause);
    const [leave, leaveSecond] = [wait.ask(), wait.ask()];
    expect(() => other.ask())
      .to.throw('calls that wait for a person')
      .with.property('code', -32602);
    const [first, second] = [wait.begin(), wait.begin()];
    await first(forever);
    expect(log).to.deep.equal(['pause']);
    await second(forever);
    expect(log).to.deep.equal(['pause', 'go on']);
    leave();
    leaveSecond();
    other.ask()();
  });
});

describe('the slots for commands of a worker', () => {
  function start(total: number) {
    const activitySlots = new ActivitySlots(4);
    const commands = openCommandPlaces(total, activitySlots);
    const begun: string[] = [];
    const ends = new Map<string, () => void>();
    const run = (name: string, signal = new AbortController().signal): Promise<void> =>
      commands.within({ turn: { projectId: name[0]! }, signal, beatSlowly: () => () => undefined } as never, () => {
        begun.push(name);
        return new Promise<void>((resolve) => ends.set(name, resolve));
      });
    return { activitySlots, begun, run, end: (name: string) => ends.get(name)!() };
  }

  it('the slots for commands of a worker are taken by one project up to half of them, and by others meanwhile', async () => {
    const { begun, run, end } = start(4);
    for (const name of ['a1', 'a2', 'a3', 'b1', 'b2']) void run(name);
    await settled();
    expect(begun).to.deep.equal(['a1', 'a2', 'b1', 'b2']);
    end('b1');
    await settled();
    expect(begun, 'a slot that b has given back is not one for a').to.have.length(4);
    end('a1');
    await settled();
    expect(begun.at(-1)).to.equal('a3');
  });

  it('the slots for commands of a worker are at least one for each project', async () => {
    const { begun, run } = start(1);
    void run('a1');
    await settled();
    expect(begun).to.deep.equal(['a1']);
  });

  it('the slots for commands of a worker are waited for without a slot of Temporal, and a call that is cancelled leaves its line', async () => {
    const { activitySlots, begun, run, end } = start(2);
    const stop = new AbortController();
    void run('a1');
    const cancelled = run('a2', stop.signal).catch((error: unknown) => error);
    void run('a3');
    await settled();
    expect(activitySlots.counts.waiting).to.equal(2);
    stop.abort(new Error('cancelled'));
    expect(await cancelled).to.have.property('message', 'cancelled');
    expect(activitySlots.counts.waiting).to.equal(1);
    end('a1');
    await settled();
    expect(begun).to.deep.equal(['a1', 'a3']);
    expect(activitySlots.counts.waiting).to.equal(0);
  });

  it('the slots for commands of a worker are refused, to be asked for later, while a hundred calls of a project wait', async () => {
    const { activitySlots, run } = start(2);
    for (let call = 0; call < 101; call += 1) void run(`a${call}`);
    await settled();
    expect(activitySlots.counts.waiting).to.equal(100);
    const failure: unknown = await run('a101').catch((error: unknown) => error);
    expect(failure).to.include({ type: 'ConcurrencyLimitReached', nonRetryable: false });
    void run('b1');
    await settled();
    expect(activitySlots.counts.waiting, 'another project does not wait').to.equal(100);
  });
});
