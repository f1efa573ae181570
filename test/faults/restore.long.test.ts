import { expect } from 'chai';
import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { fileURLToPath, pathToFileURL } from 'node:url';
import type { Database } from '../../src/db/db.js';
import { openDataSource } from '../../src/db/data-source.js';
import { copyLive, takeBackup, type Backup } from '../support/backup.js';
import { eventually } from '../support/eventually.js';
import type { Turn } from '../support/fault-system.js';
import { steps, text, toolUse, wait, type Gate } from '../support/scripted-model.js';
import { makeStateDir } from '../support/state-dir.js';
import { startTemporalServer } from '../support/temporal.js';
import { checkTurns, type Evidence, type StoredEvent } from '../support/turn-checker.js';
import { useFaultSystem } from '../support/use.js';
import { writeTree } from '../support/workspaces.js';

const execute = promisify(execFile);
/** Turns of each kind, and of those that come and go meanwhile. */
const EACH = 10;
/** Processes of each role. */
const FEW = 2;
const OPEN = ['queued', 'running'];

/** docs/operations/backup.md, rehearsed: its steps, in its order. */
describe('a backup taken under load', function () {
  this.timeout(600_000);
  let backup: Backup;
  let savedFiles: string;
  let workspace: string;

  const system = useFaultSystem({ apis: FEW, workers: FEW, ownPostgres: true, ownTemporal: true });
  before(async () => {
    const { model, mcp, db } = system;
    const gates = [model.gate(), model.gate(), model.gate()] as const;
    const [afterBackup, untilDeath, atDeath] = gates;
    let letBuy!: () => void;
    const mayBuy = new Promise<void>((resolve) => (letBuy = resolve));
    const run = async ({ arguments: { kind } }: { arguments: Record<string, unknown> }): Promise<string> => {
      if (kind === 'buying') await mayBuy;
      return 'bought';
    };
    mcp.options.tools = [{ name: 'buy', run }];
    const said = (what: string, gate?: Gate) =>
      text(`${what} is said in some words.`, { every: 5, ...(gate && { before: { 2: wait(gate) } }) });
    model.on(/^\w+ \d+$/, (request, index) => {
      const [kind, n] = request.userText.split(' ') as [string, string];
      const buy = toolUse('mcp__shop__buy', { kind, n });
      const file = toolUse('deliver_file', { filename: `${n}.txt`, content: `file ${n}, `.repeat(1000) });
      const script = {
        quick: steps([said('look'), buy], [said('file'), file], said('answer')),
        // Open in the backup, and where the disaster finds them.
        streaming: steps([said('look', untilDeath), buy], said('answer')),
        answering: steps([said('look'), buy], said('answer', untilDeath)),
        // These have gone on after the backup: Temporal has more of their steps than the database.
        ends: steps([said('look', afterBackup), buy], said('answer')),
        ahead: steps([said('look', afterBackup), buy], said('answer', atDeath)),
        buying: steps([said('look'), buy], said('answer', atDeath)),
      }[kind]!;
      return script(request, index);
    });
    const { body: server } = await system.insist('POST', '/v1/mcp-servers', { name: 'shop', url: mcp.url });
    let made = 0;
    const ends: string[] = [];
    const send = async (kind: string): Promise<Turn> => {
      const sessionId = await system.session({ mcp_servers: [server.id] });
      made += 1;
      const turn = await system.send(sessionId, `${kind} ${made}`);
      if (kind === 'ends') ends.push(turn.turnId);
      return turn;
    };
    const asked = (kind: string, step: number): number =>
      model.requests.filter((request) => request.userText.startsWith(kind) && request.step === step).length;

    await Promise.all(
      ['streaming', 'answering', 'ends', 'ahead', 'buying'].flatMap((kind) =>
        Array.from({ length: EACH }, () => send(kind)),
      ),
    );
    await eventually('the turns are where they shall be', () =>
      [asked('streaming', 0), asked('answering', 1), asked('ends', 0), asked('ahead', 0)]
        .concat(mcp.calls.filter((call) => call.arguments.kind === 'buying').length)
        .every((count) => count === EACH),
    );
    let enough = false;
    const others = Array.from({ length: EACH }, async () => {
      while (!enough) await system.ended(await send('quick'));
    });
    await eventually('others have come and gone', () => asked('quick', 2) >= EACH);
    workspace = await system.session({});
    const storage = pathToFileURL(join(system.apis[0]!.env.DATA_DIR!, 'files')).href;
    const own = { db, config: { storageUrl: storage, publicUrl: '', encryptionKeys: [] } };
    await writeTree(own, workspace, { '/workspace/a': 'first', '/workspace/b': 'in both' });
    await writeTree(own, workspace, { '/workspace/a': 'in the backup', '/workspace/b': 'in both' });
    const burst = Array.from({ length: 4 * EACH }, () => send('quick'));
    backup = await takeBackup(system.postgres!);
    savedFiles = makeStateDir();
    await copyLive(join(system.apis[0]!.env.DATA_DIR!, 'files'), savedFiles);

    await writeTree(own, workspace, { '/workspace/a': 'after the backup' });
    afterBackup.open();
    letBuy();
    await eventually('the turns are ahead', () => asked('ahead', 1) === EACH && asked('buying', 1) === EACH);
    enough = true;
    await Promise.all([...others, ...burst]);
    await eventually('turns have ended after the backup', async () => {
      const rows = await db.query(`SELECT FROM turns WHERE id = ANY($1) AND state = 'completed'`, [ends]);
      return (rows as unknown[]).length === EACH;
    });
    await Promise.all([...system.apis, ...system.workers].map((each) => each.kill()));
    await db.destroy();
    await system.postgres!.kill();
    for (const gate of gates) gate.open();
  });

  /** Restores, starts the service on it, and has everything checked that the backup holds. */
  async function rehearse(temporal: string): Promise<void> {
    const restored = await backup.restore();
    const dataDir = makeStateDir();
    await copyLive(join(savedFiles, 'files'), dataDir);
    const all = [...system.apis, ...system.workers];
    for (const each of all) {
      Object.assign(each.env, { DATABASE_URL: restored.url, TEMPORAL_ADDRESS: temporal, DATA_DIR: dataDir });
    }
    const command = async (path: string): Promise<string> => {
      const main = fileURLToPath(new URL(`../../dist/${path}`, import.meta.url));
      const { stdout } = await execute(process.execPath, [main], { env: { ...system.apis[0]!.env } });
      return stdout;
    };
    const db = await openDataSource(restored.url, 2, 'test');
    try {
      const saved = await whatIsIn(db);
      const open = saved.turns.filter(({ state }) => OPEN.includes(state));
      const count = (state: string): number => saved.turns.filter((turn) => turn.state === state).length;
      console.log(
        `      ${backup.how} in ${backup.ms} ms: ${saved.turns.length} turns (${count('queued')} queued, ${count('running')} running),` +
          ` ${saved.events.length} events, ${saved.files.length} files; restored in ${restored.ms} ms`,
      );
      expect(open.length).to.be.at.least(5 * EACH);
      expect(saved.files.length).to.be.at.least(EACH);
      const callsBefore = system.mcp.calls.length;

      expect(await command('ops/migrate.js')).to.contain('up to date');
      const began = performance.now();
      await Promise.all(all.map((each) => each.start()));
      const started = Math.round(performance.now() - began);
      // On a quiet machine 10 s; a busy one takes the heartbeat timeout of 90 s for what a dead worker held unrecorded.
      await eventually('every turn has ended', async () => (await openTurns(db)) === 0, 240_000);
      const took = Math.round(performance.now() - began);
      console.log(`      its processes started in ${started} ms; every open turn had ended ${took - started} ms later`);
      await eventually('doctor is content', async () =>
        (await command('ops/doctor.js').catch(() => '')).includes('Everything answers.'),
      );

      const evidence: Evidence = {
        accepted: saved.turns.map(({ id, session_id }) => ({ turnId: id, sessionId: session_id })),
        histories: new Map(),
        statuses: new Map(),
        watched: [],
      };
      for (const sessionId of new Set(saved.turns.map((turn) => turn.session_id))) {
        const { body } = await system.insist('GET', `/v1/sessions/${sessionId}`);
        evidence.statuses.set(sessionId, body.status as string);
        evidence.histories.set(sessionId, await system.history(sessionId));
      }
      expect(checkTurns(evidence)).to.deep.equal([]);
      const said = [...evidence.histories.values()].flat();
      expect(said.map(({ id }) => id as string)).to.include.members(saved.events);
      const ends: StoredEvent[] = open.map(({ id }) => said.findLast((event) => event.turn_id === id));
      expect(ends.map(({ type }) => type as string)).to.deep.equal(ends.map(() => 'turn.completed'));
      const left = new Set(saved.calls);
      const repeated = system.mcp.calls.slice(callsBefore).filter((call) => left.has(String(call.arguments.n)));
      expect(repeated, 'calls that were sent before the backup').to.deep.equal([]);
      const contentOf = (url: string): Promise<string> =>
        fetch(`${system.apis[0]!.url}/v1/${url}`, { headers: { Authorization: `Bearer ${system.key}` } }).then(
          (response) => response.text(),
        );
      for (const { id, filename } of saved.files)
        expect(await contentOf(`files/${id}/content`)).to.equal(`file ${filename.split('.')[0]}, `.repeat(1000));
      for (const [name, content] of Object.entries({ a: 'in the backup', b: 'in both' }))
        expect(await contentOf(`sessions/${workspace}/workspace/content?path=/workspace/${name}`)).to.equal(content);
      const { sessionId } = evidence.accepted[0]!;
      const next = await system.send(sessionId, 'And now?');
      await eventually('the next turn has ended', async () => (await openTurns(db)) === 0, 120_000);
      expect((await system.history(sessionId)).at(-1)).to.include({ type: 'turn.completed', turn_id: next.turnId });
    } catch (error) {
      console.log(all.map((each) => `--- ${each.role}\n${each.log().slice(-3000)}`).join('\n'));
      throw error;
    } finally {
      await Promise.all(all.map((each) => each.kill()));
      await db.destroy();
      await restored.stop();
    }
  }

  it('a backup taken under load lets every open turn end, on an empty Temporal server', async () => {
    const temporal = await startTemporalServer({ persistent: false });
    await rehearse(temporal.address);
    await temporal.stop();
  });

  it('a backup taken under load lets every open turn end, on the same Temporal server, whose state is newer than the backup', () =>
    rehearse(system.temporal!.address));
});

interface Saved {
  turns: { id: string; session_id: string; state: string }[];
  events: string[];
  calls: string[];
  files: { id: string; filename: string }[];
}

async function whatIsIn(db: Database): Promise<Saved> {
  const [turns, events, calls, files] = await Promise.all([
    db.query<Saved['turns']>('SELECT id, session_id, state FROM turns'),
    db.query<{ id: string }[]>('SELECT id FROM events'),
    db.query<{ n: string }[]>(`SELECT input->>'n' AS n FROM tool_calls WHERE state <> 'pending' AND name LIKE 'mcp%'`),
    db.query<Saved['files']>('SELECT id, filename FROM files'),
  ]);
  return { turns, events: events.map(({ id }) => id), calls: calls.map(({ n }) => n), files };
}

async function openTurns(db: Database): Promise<number> {
  const [row] = await db.query<{ open: number }[]>(
    `SELECT count(*)::integer AS open FROM turns WHERE state IN ('queued', 'running')`,
  );
  return row!.open;
}
