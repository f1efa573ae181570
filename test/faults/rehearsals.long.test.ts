import { expect } from 'chai';
import { execFile, execFileSync, spawnSync } from 'node:child_process';
import { appendFileSync, chmodSync, chownSync, mkdirSync, mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import pg from 'pg';
import { startPostgres as startEmbedded } from '../../dev/embedded-postgres.js';
import { copyCluster, copyLive } from '../support/backup.js';
import { eventually } from '../support/eventually.js';
import { prepareLoad } from '../support/fault-load.js';
import { startFaultSystem, type FaultSystem, type Turn } from '../support/fault-system.js';
import { testPostgres, type TestPostgres } from '../support/postgres.js';
import { THIS_BUILD } from '../support/role-process.js';
import { steps, text, toolUse, wait } from '../support/scripted-model.js';
import { skip } from '../support/skip.js';
import { makeStateDir } from '../support/state-dir.js';
import { startTemporalServer, type TestTemporal } from '../support/temporal.js';

const execute = promisify(execFile);
const CLOCK = fileURLToPath(new URL('../support/soak/stepped-clock.mjs', import.meta.url));
const PACE = { words: 20, everyMs: 50 };
const WAVE = 6;

async function ask<Row>(url: string, sql: string): Promise<Row[]> {
  const client = new pg.Client({ connectionString: url });
  client.on('error', () => undefined);
  await client.connect();
  try {
    return (await client.query(sql)).rows as Row[];
  } finally {
    await client.end();
  }
}

/** Runs a command of operators with the settings of the processes. */
async function operate(env: Record<string, string>, name: string, ...args: string[]): Promise<string> {
  const { stdout } = await execute(process.execPath, [join(THIS_BUILD, 'dist', 'ops', `${name}.js`), ...args], {
    env: { PATH: process.env.PATH, ...env },
  });
  return stdout;
}

/** docs/operations/point-in-time.md, on a second machine: another Postgres, Temporal, and other processes. */
describe('a restore to a point in time', function () {
  this.timeout(600_000);
  const OPEN = 8;
  let first: FaultSystem;
  let second: FaultSystem;
  let restored: TestPostgres;
  let temporal: TestTemporal;
  after(async () => {
    await first?.close();
    await second?.close();
    await restored?.stop();
    await temporal?.stop();
  });

  it('a restore to a point in time ends the turns that were open then, once each, and knows nothing younger', async () => {
    const archive = makeStateDir();
    chmodSync(archive, 0o777);
    first = await startFaultSystem({ apis: 1, workers: 1, ownPostgres: true });
    const { postgres } = first;
    const { adminUrl, url } = postgres!;
    await ask(adminUrl, 'ALTER SYSTEM SET archive_mode = on');
    await ask(adminUrl, `ALTER SYSTEM SET archive_command = 'test ! -f ${archive}/%f && cp %p ${archive}/%f'`);
    await postgres!.kill();
    await postgres!.restart();
    const saved = join(makeStateDir(), 'base');
    await copyCluster(adminUrl, saved);

    // After the base backup: what is only in the archive.
    const gate = first.model.gate();
    first.model.on(/^open/, text('never told', { before: { 0: wait(gate) } }));
    const send = async (what: string): Promise<Turn> => first.send(await first.session(), what);
    const ended = await send('ended before');
    await first.ended(ended);
    const open = await Promise.all(Array.from({ length: OPEN }, (_, n) => send(`open ${n}`)));
    await eventually(
      'the turns run',
      async () => first.model.requests.filter(({ userText }) => userText.startsWith('open')).length >= OPEN,
    );
    const [{ moment }] = (await ask<{ moment: string }>(url, 'SELECT clock_timestamp()::text AS moment')) as [
      { moment: string },
    ];
    const younger = await send('younger');
    await first.ended(younger);
    const [{ wal }] = (await ask<{ wal: string }>(adminUrl, 'SELECT pg_walfile_name(pg_switch_wal()) AS wal')) as [
      { wal: string },
    ];
    await eventually('the log is archived', async () => {
      const rows = await ask<{ done: boolean }>(
        adminUrl,
        `SELECT last_archived_wal >= '${wal}' AS done FROM pg_stat_archiver`,
      );
      return rows[0]!.done;
    });
    // The disaster.
    await Promise.all([...first.apis, ...first.workers].map((each) => each.kill()));
    await postgres!.kill();

    const began = performance.now();
    const dataDir = makeStateDir();
    const cluster = join(dataDir, 'postgres', 'cluster');
    mkdirSync(join(dataDir, 'postgres'));
    await copyLive(saved, cluster);
    const { password } = new URL(adminUrl);
    appendFileSync(
      join(cluster, 'postgresql.auto.conf'),
      `archive_mode = off\nrestore_command = 'cp ${archive}/%f %p'\nrecovery_target_time = '${moment}'\nrecovery_target_action = promote\n`,
    );
    const signal = join(cluster, 'recovery.signal');
    writeFileSync(signal, '');
    const { uid, gid } = statSync(cluster);
    chownSync(signal, uid, gid);
    writeFileSync(join(dataDir, 'postgres.json'), JSON.stringify({ port: 0, password }));
    restored = testPostgres(await startEmbedded({ dataDir }), dataDir);
    await eventually('it takes writes', async () => {
      const rows = await ask<{ standby: boolean }>(restored.adminUrl, 'SELECT pg_is_in_recovery() AS standby');
      return !rows[0]!.standby;
    });
    const recovered = performance.now();
    temporal = await startTemporalServer({ persistent: false });
    second = await startFaultSystem({
      apis: 0,
      workers: 0,
      servers: { databaseUrl: restored.url, temporalAddress: temporal.address },
    });
    await operate(second.env, 'migrate');
    await operate(second.env, 'maintenance', 'adopt-storage');
    await second.addRole('api');
    await second.addRole('worker');
    for (const { turnId } of open) {
      await eventually(
        'the turn ends',
        async () => {
          const [row] = await second.db.query<{ state: string }[]>('SELECT state FROM turns WHERE id = $1', [turnId]);
          expect(row, 'a turn of before the moment').to.not.equal(undefined);
          return row!.state === 'completed';
        },
        180_000,
      );
      const ends = await second.db.query<object[]>(
        `SELECT FROM events e JOIN turns t ON t.session_id = e.session_id AND t.number = e.turn_number
         WHERE t.id = $1 AND e.type IN ('turn.completed', 'turn.failed', 'turn.cancelled')`,
        [turnId],
      );
      expect(ends).to.have.length(1);
    }
    const known = await second.db.query<{ id: string }[]>('SELECT id FROM turns WHERE id = ANY($1)', [
      [ended.turnId, younger.turnId],
    ]);
    expect(known.map(({ id }) => id)).to.deep.equal([ended.turnId]);
    const seconds = (from: number, to: number): string => ((to - from) / 1000).toFixed(1);
    console.log(
      `      recovered after ${seconds(began, recovered)} s, all ${OPEN} turns ended after ${seconds(began, performance.now())} s`,
    );
  });
});

/** docs/operations/keys.md, "A new encryption key". */
describe('a new encryption key', function () {
  this.timeout(600_000);
  let system: FaultSystem;
  after(() => system?.close());

  it('a new encryption key takes the place of the old one while turns use stored secrets, and no call is refused', async () => {
    const [old, fresh] = [7, 9].map((byte) => Buffer.alloc(32, byte).toString('base64')) as [string, string];
    system = await startFaultSystem({ apis: 2, workers: 2, env: { ENCRYPTION_KEY: old } });
    system.mcp.options.tools = [{ name: 'buy' }];
    system.mcp.options.auth = { header: 'Authorization', value: 'Bearer SECRET' };
    const { body } = await system.insist('POST', '/v1/mcp-servers', {
      name: 'shop',
      url: system.mcp.url,
      auth: { type: 'BEARER', token: 'SECRET' },
    });
    system.model.on(/^use/, steps(toolUse('mcp__shop__buy', {}), 'Done.'));
    let isDone = false;
    const turns: Turn[] = [];
    const using = (async () => {
      while (!isDone) {
        const turn = await system.send(await system.session({ mcp_servers: [body.id] }), `use ${turns.length}`);
        turns.push(turn);
        await system.ended(turn);
      }
    })();
    const restartWith = async (key: string): Promise<void> => {
      for (const each of [...system.apis, ...system.workers]) {
        each.env.ENCRYPTION_KEY = key;
        expect(await each.stop()).to.equal(0);
        await each.start();
      }
    };
    await restartWith(`${fresh},${old}`);
    const { DATABASE_URL } = system.env;
    const sealed = await operate(
      { ...system.env, DATABASE_URL: DATABASE_URL!, ENCRYPTION_KEY: `${fresh},${old}` },
      'reencrypt',
    );
    await restartWith(fresh);
    isDone = true;
    await using;
    const last = await system.send(await system.session({ mcp_servers: [body.id] }), 'use last');
    await system.ended(last);
    await system.verify();
    const failed = await system.db.query<object[]>('SELECT turn_id FROM tool_calls WHERE is_error');
    expect(failed).to.deep.equal([]);
    expect(system.mcp.calls.length).to.equal(turns.length + 1);
    console.log(`      ${turns.length + 1} turns with a stored secret; ${sealed.trim()}`);
  });
});

/** docs/operations/faults-rehearsed.md, "A clock that jumps". */
describe('a clock that jumps', function () {
  this.timeout(600_000);
  let system: FaultSystem;
  let clocks: string;
  after(async () => {
    await system?.close();
    if (clocks) rmSync(clocks, { recursive: true });
  });

  it('a clock that jumps by hours on one machine loses no turn', async () => {
    clocks = mkdtempSync(join(tmpdir(), 'clocks-'));
    system = await startFaultSystem({ apis: 1, workers: 1, env: { NODE_OPTIONS: `--import ${CLOCK}` } });
    const files = await Promise.all(
      (['api', 'worker'] as const).map(async (role) => {
        const file = join(clocks, role);
        writeFileSync(file, '0');
        await system.addRole(role, { CLOCK_FILE: file });
        return file;
      }),
    );
    const startLoad = await prepareLoad(system);
    for (const hours of [2, -2, 0]) {
      const load = await startLoad(WAVE, PACE);
      await load.underWay(2);
      for (const file of files) writeFileSync(file, String(hours * 3_600_000));
      const during = await startLoad(WAVE, PACE);
      await load.verify();
      await during.verify();
    }
  });
});

/** docs/operations/faults-rehearsed.md, "A full disk". */
describe('a full disk', function () {
  this.timeout(600_000);
  const mounts: string[] = [];
  let system: FaultSystem;
  let postgres: TestPostgres;

  /** A disk of so many MiB. */
  function disk(context: Mocha.Context, mib: number): string {
    const folder = makeStateDir();
    try {
      execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${mib}m,mode=0711`, 'tmpfs', folder], { stdio: 'pipe' });
    } catch {
      skip(context, 'a small disk is a mount, which needs root');
    }
    mounts.push(folder);
    return folder;
  }
  /** Takes the rest of the disk, while others take of it too; returns what gives it back. */
  function fill(folder: string): () => void {
    const file = join(folder, 'filler');
    const { stderr } = spawnSync('dd', ['if=/dev/zero', `of=${file}`, 'bs=4096'], { encoding: 'utf8' });
    expect(stderr).to.contain('No space left on device');
    return () => rmSync(file);
  }
  afterEach(async () => {
    await system?.close();
    await postgres?.stop().catch(() => undefined);
    for (const folder of mounts.splice(0)) execFileSync('umount', ['--lazy', folder]);
  });

  it('a full disk of Postgres delays turns and loses none', async function () {
    const folder = disk(this, 400);
    const started = await startEmbedded({ dataDir: folder, durable: true });
    postgres = testPostgres(started, folder);
    await execute(process.execPath, [join(THIS_BUILD, 'dist', 'ops', 'migrate.js')], {
      env: { PATH: process.env.PATH, DATABASE_URL: started.url },
    });
    const temporalAddress = process.env.TEST_TEMPORAL_ADDRESS!;
    system = await startFaultSystem({ apis: 1, workers: 1, servers: { databaseUrl: started.url, temporalAddress } });
    const startLoad = await prepareLoad(system);
    const load = await startLoad(WAVE, { words: 40, everyMs: 50 });
    await load.underWay(2);
    const free = fill(folder);
    // The log and tables grow until nothing more fits: then requests get 503, and may find the server restarting.
    const blocked: number[] = [];
    await eventually(
      'Postgres refuses writes',
      async () => {
        const sent = await system
          .ask(0, 'POST', '/v1/sessions', { model_id: 'scripted', metadata: { filler: 'x'.repeat(400) } })
          .catch(() => null);
        if (sent !== null) blocked.push(sent.status);
        return sent === null || sent.status === 503;
      },
      180_000,
    );
    free();
    // A Postgres that could not write its log has ended itself; its supervisor starts it again.
    if (
      !(await ask(started.adminUrl, 'SELECT 1').then(
        () => true,
        () => false,
      ))
    )
      await postgres.restart().catch(() => undefined);
    await load.verify();
    expect(
      blocked.every((status) => status === 201 || status === 503),
      blocked.join(),
    ).to.equal(true);
  });

  it('a full disk of the storage fails uploads with an error that says so, and nothing else', async function () {
    const folder = disk(this, 16);
    chmodSync(folder, 0o777);
    system = await startFaultSystem({ apis: 1, workers: 1, env: { STORAGE_URL: `file://${folder}/files` } });
    const upload = async (): Promise<number> => {
      const form = new FormData();
      form.append('file', new Blob([Buffer.alloc(2 ** 20, 1)], { type: 'text/plain' }), 'a.txt');
      const headers = { Authorization: `Bearer ${system.key}` };
      return (await fetch(`${system.apis[0]!.url}/v1/files`, { method: 'POST', headers, body: form })).status;
    };
    expect(await upload()).to.equal(201);
    const free = fill(folder);
    expect(await upload(), 'the storage is full').to.equal(502);
    const turn = await system.send(await system.session(), 'Hello');
    expect(await system.ended(turn)).to.include({ type: 'turn.completed' });
    free();
    await eventually('uploads work again', async () => (await upload()) === 201);
    await system.verify();
  });
});
