import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { cleanStorage } from '../../src/files/maintenance.js';
import { openStorage } from '../../src/files/open-storage.js';
import { loadConfig } from '../../src/platform/config.js';
import { apiClient } from '../support/client.js';
import { eventually } from '../support/eventually.js';
import type { Turn } from '../support/fault-system.js';
import { checkAgainstOpenApi } from '../support/openapi-check.js';
import { holdStatement } from '../support/held-statement.js';
import { processesWith } from '../support/processes-with.js';
import { needSandbox } from '../support/sandbox.js';
import { steps, toolUse } from '../support/scripted-model.js';
import { upload } from '../support/upload.js';
import { useFaultSystem } from '../support/use.js';

/** In the command line of every command of these tests. */
const MARK = `: moments-${process.pid};`;

/** Where the call of a turn is when its worker is killed. Of each but the last one, the command runs again. */
const MOMENTS = {
  mounting: 'before it has brought the attachment to the disk',
  running: 'while the command runs',
  delivering: 'before it stores the delivered file',
  packing: 'before it stores the contents',
  listing: 'between storing the contents and the list of files',
  committing: 'in the transaction that stores the result',
  stored: 'after the result is stored, before Temporal knows of it',
} as const;
type Moment = keyof typeof MOMENTS;

/** decisions.md "Workspace": a call counts once, wherever its worker dies. All moments share one worker and its death. */
describe('a call in a workspace whose worker is killed', function () {
  this.timeout(300_000);
  needSandbox();
  const env = { SANDBOX_PROVIDER: 'bubblewrap', SANDBOX_MAX_COMMANDS: '16', MAINTENANCE: 'off' };
  const system = useFaultSystem({ workers: 0, env });
  const turns = {} as Record<Moment, Turn>;
  const rules = mkdtempSync(join(tmpdir(), 'moments-'));
  const ruleOf = (moment: Moment): string => join(rules, `${moment}.json`);
  after(() => rmSync(rules, { recursive: true }));

  before(async () => {
    const { worker: killed, proxy } = await system.addProxiedWorker({
      HOLD_RENAMES: rules,
      NODE_OPTIONS: `--import=${new URL('../support/hold-renames.mjs', import.meta.url).href}`,
    });
    const api = apiClient(system.apis[0]!.url, system.key, checkAgainstOpenApi);
    const attachment = (await upload({ api }, 'a.txt', 'attached')).body.id as string;
    const isReached = (moment: Moment): Promise<void> =>
      eventually(`a call is held ${MOMENTS[moment]}`, () => existsSync(`${ruleOf(moment)}.reached`), 60_000);
    /** Begins a turn with one command, which is held at a rename to a path with this text. */
    const begin = async (moment: Moment, target: (session: string) => string | null, skip = 0): Promise<void> => {
      const sessionId = await system.session({ tools: [{ type: 'workspace' }] });
      const held = target(sessionId);
      if (held !== null) writeFileSync(ruleOf(moment), JSON.stringify({ target: held, skip }));
      const wait = moment === 'running' ? 'sleep 4;' : '';
      const command = `${MARK} : ${moment}; echo line >> log; ${wait} cp log /mnt/session/outputs/log.txt`;
      system.model.on(new RegExp(`^${moment}$`), steps(toolUse('bash', { command }), 'Done.'));
      const files = moment === 'mounting' ? [attachment] : [];
      const { body } = await system.insist('POST', `/v1/sessions/${sessionId}/messages`, { content: moment, files });
      turns[moment] = { sessionId, turnId: body.turn_id as string };
      if (held !== null) await isReached(moment);
    };
    const objects = (session: string): string => `/workspaces/${session}/`;
    // The key of a delivered file does not name its session: the others deliver after this one is held.
    await begin('delivering', () => '/files/files/');
    await Promise.all([
      begin('mounting', () => '/mounts/'),
      begin('packing', objects),
      begin('listing', objects, 1),
      begin('committing', objects, 1),
      begin('stored', objects, 1),
    ]);
    await begin('running', () => null);
    await eventually('the command runs', () => processesWith('running;').length > 0);
    proxy.hold();
    rmSync(ruleOf('stored'));
    const isStored = async (): Promise<boolean> => {
      const sql = `SELECT FROM tool_calls WHERE turn_id = $1 AND state = 'done'`;
      return (await system.db.query<unknown[]>(sql, [turns.stored.turnId])).length > 0;
    };
    await eventually('the result is stored', isStored);
    const update = await holdStatement(system.db, 'UPDATE ON workspaces');
    rmSync(ruleOf('committing'));
    await update.reached();
    await killed.kill();
    await update.release();
    await proxy.close();
    system.workers.splice(0, 1);
    await system.addRole('worker');
    await Promise.all(Object.values(turns).map((turn) => system.ended(turn)));
  });

  for (const [moment, when] of Object.entries(MOMENTS)) {
    it(`a call in a workspace whose worker is killed ${when} has one result, one version and one delivery`, async () => {
      const { sessionId } = turns[moment as Moment];
      const history = await system.history(sessionId);
      const types = history.map(({ type }) => type as string).join(' ');
      expect(types).to.equal('user.message agent.tool_use agent.file agent.tool_result agent.message turn.completed');
      const result = history.find(({ type }) => type === 'agent.tool_result');
      expect(result).to.include({ is_error: false });
      expect(result.workspace).to.deep.include({ version: 1, exit_code: 0, stopped: null });
      const { body } = await system.insist('GET', `/v1/sessions/${sessionId}`);
      // `log` and its copy, of one line each.
      expect(body.workspace).to.include({ version: 1, size_bytes: 10, file_count: 2 });
      const delivered = await system.insist('GET', `/v1/files?session_id=${sessionId}&origin=OUTPUT`);
      expect(delivered.body.items.map(({ size_bytes: size }: { size_bytes: number }) => size)).to.deep.equal([5]);
    });
  }

  it('a call in a workspace whose worker is killed runs again, unless its result is stored', async () => {
    const metrics = await (await fetch(`${system.workers[0]!.url}/metrics`)).text();
    expect(Number(/^workspace_reruns_total(?:\{.*\})? (\d+)$/m.exec(metrics)?.[1])).to.equal(
      Object.keys(MOMENTS).length - 1,
    );
    await eventually('no process of a command is left', () => processesWith(MARK).length === 0, 2_000);
  });

  it('a call in a workspace whose worker is killed leaves only objects that maintenance removes, and none that it needs', async () => {
    const storage = await openStorage(loadConfig(system.apis[0]!.env));
    const { removedObjects } = await cleanStorage(system.db, storage, { olderThanSeconds: -1, limit: 10_000 });
    // Of the calls that were held behind it: one delivered file of four, and contents of two, and a list of one.
    expect(removedObjects).to.be.at.least(4);
    for (const { sessionId } of Object.values(turns)) {
      const answer = await fetch(
        `${system.apis[0]!.url}/v1/sessions/${sessionId}/workspace/content?path=/workspace/log`,
        { headers: { authorization: `Bearer ${system.key}` } },
      );
      expect([answer.status, await answer.text()]).to.deep.equal([200, 'line\n']);
    }
  });
});
