import { expect } from 'chai';
import { createLogger } from '../../../src/platform/logger.js';
import { startRounds, type Round } from '../../../src/platform/rounds.js';
import { eventually } from '../../support/eventually.js';

describe('rounds', () => {
  let stop = async (): Promise<void> => undefined;
  afterEach(() => stop());
  const lines: Record<string, unknown>[] = [];
  const log = createLogger('warn', 'test', { write: (line) => void lines.push(JSON.parse(line)) });
  const leader = () => ({ isHeld: true, release: async () => undefined });

  it('rounds run in the process that holds the lease, which it gives back once the rounds under way have ended', async () => {
    const steps: string[] = [];
    const lease = { isHeld: false, release: async () => void steps.push('released') };
    let letGo!: () => void;
    const held = new Promise<void>((resolve) => (letGo = resolve));
    const beats: Round<{ log: typeof log }> = {
      name: 'beats',
      everyMs: 1,
      run: async () => {
        steps.push('began');
        await held;
        steps.push('ended');
      },
    };
    let looks = 0;
    const watched = {
      get isHeld() {
        looks += 1;
        return lease.isHeld;
      },
      release: lease.release,
    };
    stop = startRounds([beats], { log }, watched);
    await eventually('it has looked for the lease', () => looks > 3);
    expect(steps).to.deep.equal([]);
    lease.isHeld = true;
    await eventually('a round runs', () => steps.length > 0);
    const stopped = stop();
    letGo();
    await stopped;
    expect(steps).to.deep.equal(['began', 'ended', 'released']);
    stop = async () => undefined;
  });

  it('rounds that fail say their name, and are tried again; one that has more to do goes on at once', async () => {
    let fails = 0;
    let goes = 0;
    const fail = (): Promise<void> => Promise.reject(new Error(`failure ${(fails += 1)}`));
    const failing = { name: 'fails', everyMs: 1, run: fail };
    const busy = { name: 'busy', everyMs: 300, run: async () => ((goes += 1) < 1000 ? 0 : null) };
    stop = startRounds([failing, busy], { log }, leader());
    await eventually('both have run', () => fails > 1 && goes >= 1000);
    expect(lines[0]).to.include({ task: 'fails' });
    expect(lines[0]!.err).to.include({ message: 'failure 1' });
  });
});
