import { expect } from 'chai';
import { eventually } from './support/eventually.js';
import { utimesSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { createMaintenanceActivities } from '../activities/maintenance/index.js';
import { openStorage } from '../src/files/open-storage.js';
import { createLogger } from '../src/platform/logger.js';
import { metricsText } from '../src/platform/metrics.js';
import { ensureMaintenanceSchedules, maintenanceScheduleId } from '../src/temporal/maintenance-schedules.js';
import type { MaintenanceTask } from '../workflows/contract.js';
import { useTemporalClient, useTurnService } from './support/use.js';

describe('maintenance', () => {
  const client = useTemporalClient();
  const service = useTurnService({ config: { maintenance: true, retentionDays: 30 } });
  after(async () => {
    const { taskQueue } = service.config;
    for await (const { scheduleId } of client.schedule.list()) {
      if (scheduleId.startsWith(taskQueue)) await client.schedule.getHandle(scheduleId).delete();
    }
  });

  const count = async (from: string): Promise<number> =>
    (await service.db.query<{ n: number }[]>(`SELECT count(*)::integer AS n FROM ${from}`))[0]!.n;

  /** Triggers a task's schedule, as the button in the Temporal UI does, and waits for its run. Returns its result. */
  async function run(task: MaintenanceTask): Promise<Record<string, number>> {
    const handle = client.schedule.getHandle(maintenanceScheduleId(service.config.taskQueue, task));
    const known = new Set((await recent(task)).map(({ workflowId }) => workflowId));
    // A run is named by its second: two in the same one are one.
    if (known.size > 0) await new Promise((resolve) => setTimeout(resolve, 1100));
    // The schedule sees the end of its last run with a delay.
    await handle.trigger('ALLOW_ALL');
    let workflowId = '';
    await eventually('the schedule has run', async () => {
      workflowId = (await recent(task)).find((one) => !known.has(one.workflowId))?.workflowId ?? '';
      return workflowId !== '';
    });
    return (await client.workflow.getHandle(workflowId).result()) as Record<string, number>;
  }

  async function recent(task: MaintenanceTask): Promise<{ workflowId: string }[]> {
    const handle = client.schedule.getHandle(maintenanceScheduleId(service.config.taskQueue, task));
    const { info } = await handle.describe().catch(() => ({ info: { recentActions: [] } }));
    return info.recentActions.map(({ action }) => action.workflow);
  }

  it('maintenance is scheduled at the worker’s start, once, and stays paused for whoever paused it', async () => {
    const id = maintenanceScheduleId(service.config.taskQueue, 'storage');
    await eventually('the schedule exists', () =>
      client.schedule
        .getHandle(id)
        .describe()
        .then(
          () => true,
          () => false,
        ),
    );
    await client.schedule.getHandle(id).pause('not now');
    const log = createLogger('silent', 'test');
    await ensureMaintenanceSchedules(client, service.config, log);
    expect((await client.schedule.getHandle(id).describe()).state).to.include({ paused: true, note: 'not now' });
    await client.schedule.getHandle(id).unpause();

    const retention = client.schedule.getHandle(maintenanceScheduleId(service.config.taskQueue, 'retention'));
    expect((await retention.describe()).policies.overlap).to.equal('SKIP');
    await ensureMaintenanceSchedules(client, { ...service.config, retentionDays: null }, log);
    expect(await retention.describe().catch((error: Error) => error.name)).to.equal('ScheduleNotFoundError');
    await ensureMaintenanceSchedules(client, service.config, log);
  });

  it('maintenance deletes old sessions, purges deleted ones with turns and events, and leaves their files', async () => {
    const { db } = service;
    const [old, deleted, fresh] = [await service.session(), await service.session(), await service.session()];
    for (const id of [old, deleted, fresh]) {
      await service.send(id, 'Hello');
      await service.ended(id);
    }
    await db.query(
      `INSERT INTO files (id, project_id, filename, mime_type, size_bytes, origin, session_id, storage_key)
       SELECT 'file_kept', project_id, 'a.txt', 'text/plain', 1, 'OUTPUT', id, 'files/x/y' FROM sessions WHERE id = $1`,
      [deleted],
    );
    await db.query(`UPDATE sessions SET metadata_updated_at = now() - interval '31 days' WHERE id = ANY($1)`, [
      [old, fresh],
    ]);
    await db.query(`UPDATE turns SET transition_at = now() - interval '31 days' WHERE session_id = $1`, [old]);
    expect(await run('retention')).to.deep.equal({ sessions: 1 });
    expect((await service.api('GET', `/v1/sessions/${old}`)).status).to.equal(404);
    expect((await service.api('GET', `/v1/sessions/${fresh}`)).status).to.equal(200);

    await service.api('DELETE', `/v1/sessions/${deleted}`);
    expect(await run('purge-sessions'), 'deleted a moment ago').to.deep.equal({ turns: 0, sessions: 0 });
    await db.query(`UPDATE sessions SET deleted_at = now() - interval '2 hours' WHERE deleted_at IS NOT NULL`);
    expect(await run('purge-sessions')).to.deep.equal({ turns: 2, sessions: 2 });
    expect(await count('sessions')).to.equal(1);
    expect(await count(`events WHERE session_id <> '${fresh}'`)).to.equal(0);
    expect(await db.query('SELECT session_id FROM files')).to.deep.equal([{ session_id: deleted }]);
    await db.query('DELETE FROM files');
    expect(await metricsText()).to.match(/maintenance_items_total\{task="purge-sessions",item="turns"\} 2/);
  });

  it('maintenance removes old idempotency records in bounded steps', async () => {
    const { db } = service;
    await db.query(
      `INSERT INTO idempotency_records (project_id, path, key, request_hash, created_at)
       SELECT 'p', '/x', n::text, '', now() - (n % 2) * interval '25 hours' FROM generate_series(1, 2400) AS n`,
    );
    expect(await run('idempotency-records')).to.deep.equal({ records: 1200 });
    // Those that the sessions of the other tests left are younger, and of other paths.
    expect(await count(`idempotency_records WHERE path = '/x'`)).to.equal(1200);
  });

  it('maintenance removes objects that nothing has owned for longer than the grace, and no others', async () => {
    const storage = await openStorage(service.config);
    const old = new Date(Date.now() - 25 * 3_600_000);
    const put = async (key: string): Promise<void> => {
      await storage.put(key, Buffer.from(key), { contentType: 'text/plain' });
      utimesSync(join(fileURLToPath(service.config.storageUrl), key), old, old);
    };
    await Promise.all(['files/p/orphan', 'tmp/crashed', 'files/p/owned', 'files/p/young'].map(put));
    utimesSync(join(fileURLToPath(service.config.storageUrl), 'files/p/young'), new Date(), new Date());
    await service.db.query(
      `INSERT INTO files (id, project_id, filename, mime_type, size_bytes, origin, storage_key)
       SELECT 'file_owned', id, 'a.txt', 'text/plain', 1, 'UPLOAD', 'files/p/owned' FROM projects`,
    );
    expect(await run('storage')).to.deep.equal({ finishedDeletions: 0, removedObjects: 2, removedRows: 0 });
    const left: string[] = [];
    for await (const { key } of storage.list('')) left.push(key);
    expect(left).to.have.members(['installation', 'files/p/owned', 'files/p/young']);
    expect(await metricsText()).to.contain('maintenance_items_total{task="storage",item="removedObjects"} 2');
  });

  it('maintenance counts a step that fails, and sends no content to Temporal', async () => {
    const storage = await openStorage(service.config);
    const log = createLogger('silent', 'test');
    const db = { transaction: () => Promise.reject(new Error('secret')) } as unknown as typeof service.db;
    const activities = createMaintenanceActivities({ config: service.config, db, log, storage });
    const error = await activities
      .maintain({ task: 'purge-sessions', from: null })
      .catch((fault: Error) => fault.message);
    expect(error).to.be.a('string').that.does.not.contain('secret');
    expect(await metricsText()).to.contain('maintenance_runs_total{task="purge-sessions",outcome="failed"} 1');
  });
});
