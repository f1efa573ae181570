/** A process that runs commands in sandboxes with low limits: one a line of its input, in JSON, and their ends on its output. */
import { createInterface } from 'node:readline';
import { BubblewrapProvider } from '../../activities/sandbox/bubblewrap/provider.js';
import { PackReader } from '../../src/workspaces/packs.js';
import type { LOW, Way } from './limited-sandbox.js';
import { testLogger } from './log.js';
import { TestWorkspace } from './sandbox.js';
import { openTestStorage } from './storage.js';

const { sandboxDir, diskMb, memoryMb, mayUse } = JSON.parse(process.argv[2]!) as typeof LOW &
  Pick<Way, 'mayUse'> & { sandboxDir: string };
const test = openTestStorage();
const provider = new BubblewrapProvider(
  { sandboxDir, sandboxRoot: null, dataDir: sandboxDir, sandboxMemoryMb: memoryMb, sandboxDiskMb: diskMb },
  () => new PackReader(test.storage),
  testLogger(),
  mayUse,
);
const say = (value: unknown): void => void process.stdout.write(`${JSON.stringify(value)}\n`);
const problem = await provider.check();
if (problem !== null) throw new Error(`${problem.reason} ${problem.remedy}`);
say(provider.limits);
let count = 0;
for await (const line of createInterface({ input: process.stdin })) {
  count += 1;
  const workspace = new TestWorkspace({ provider, test }, `ses_${count}`);
  const end = await workspace.bash(JSON.parse(line) as string, { timeoutMs: 60_000 });
  say({ ...end, output: end.output.slice(-2000) });
}
provider.close();
test.remove();
