import { spawnSync } from 'node:child_process';
import { findBubblewrap } from '../../activities/sandbox/bubblewrap/find.js';
import { newProvider, TestWorkspace } from '../../test/support/sandbox.js';
import { scenario } from '../scenario.js';

/** Milliseconds that the work takes. */
async function timed(work: () => unknown): Promise<number> {
  const began = performance.now();
  await work();
  return performance.now() - began;
}

function quantiles(all: number[]): string {
  const sorted = all.toSorted((one, other) => one - other);
  const [p50, p95] = [0.5, 0.95].map((share) => sorted[Math.floor(sorted.length * share)]!.toFixed(1));
  return `p50 ${p50} ms, p95 ${p95} ms`;
}

export default scenario({
  measures: 'commands in sandboxes, with reading and storing the tree, against a bare bwrap in the same run',
  options: { runs: 60 },
  async run(_, { runs }) {
    const bwrap = await findBubblewrap();
    const made = newProvider({ sandboxDiskMb: 1024 });
    try {
      const problem = await made.provider.check();
      if (bwrap === null || problem !== null) throw new Error(problem?.reason ?? 'there is no bwrap');
      const workspace = (id: string): TestWorkspace => new TestWorkspace(made, id);
      const small = workspace('small');
      await small.bash('for i in {1..100}; do echo $i > f$i; done');
      const [bare, calls]: [number[], number[]] = [[], []];
      for (let at = 0; at < runs; at += 1) {
        bare.push(await timed(() => spawnSync(bwrap, ['--unshare-all', '--ro-bind', '/', '/', 'true'])));
        calls.push(await timed(() => small.bash('true')));
      }
      console.log(`bare bwrap: ${quantiles(bare)}\ntrue, 100 files: ${quantiles(calls)}`);
      const large = workspace('large');
      await large.bash('for i in {1..1000}; do head -c 10000 /dev/urandom > f$i; done');
      console.log(`1,000 files of 10 MB, no change: ${(await timed(() => large.bash('true'))).toFixed(0)} ms`);
      const five = 'for i in {1..5}; do echo x >> f$i; done';
      console.log(`1,000 files, 5 changed: ${(await timed(() => large.bash(five))).toFixed(0)} ms`);
      const cold = workspace('cold');
      cold.manifest = large.manifest;
      console.log(`1,000 files, restored first: ${(await timed(() => cold.bash('true'))).toFixed(0)} ms`);
    } finally {
      made.remove();
    }
  },
});
