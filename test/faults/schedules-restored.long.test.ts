import { expect } from 'chai';
import { takeBackup } from '../support/backup.js';
import { eventually } from '../support/eventually.js';
import { createSchedule, inSeconds, newSchedule, ofSchedule, runsOf, type Shown } from '../support/schedules.js';
import { useFaultSystem } from '../support/use.js';

/** The service compares its schedules with Temporal's every minute. */
const AGREE_MS = 150_000;

/** docs/operations/backup.md: Temporal's schedules follow a database that is older than they are. */
describe('schedules after a restore', function () {
  this.timeout(AGREE_MS + 120_000);
  const system = useFaultSystem({ ownPostgres: true, ownTemporal: true });

  const api = (method: string, path: string, body?: unknown) => system.insist(method, path, body);
  const create = (fields: Record<string, unknown>): Promise<Shown> =>
    createSchedule(api, newSchedule({ message: { content: 'Hello' }, ...fields }, 'scripted'));
  /** The version and pause of a schedule as Temporal has it; null if it has none. */
  const inTemporal = async (id: string): Promise<string | null> => {
    const handle = system.client.schedule.getHandle(`${system.apis[0]!.env.TASK_QUEUE}-${id}`);
    const found = await handle.describe().catch(() => null);
    return found && `${/^version \d+/.exec(found.state.note ?? '')?.[0]}${found.state.paused ? ', paused' : ''}`;
  };
  const follows = (what: string, wanted: Record<string, string | null>): Promise<void> =>
    eventually(
      `Temporal to ${what}`,
      async () => {
        for (const [id, version] of Object.entries(wanted)) if ((await inTemporal(id)) !== version) return false;
        return true;
      },
      AGREE_MS,
    );

  it('schedules after a restore agree with a newer Temporal: created ones are gone, deleted ones are back, a time that is due again starts', async () => {
    const [kept, deleted, changed] = [await create({}), await create({}), await create({})];
    const fired = await create({ at: inSeconds(15) });
    await follows('know them', Object.fromEntries([kept, deleted, changed, fired].map(({ id }) => [id, 'version 1'])));
    const backup = await takeBackup(system.postgres!);

    await api('DELETE', `/v1/schedules/${deleted.id}`);
    await ofSchedule(api, 'POST', changed.id, '/pause');
    const created = await create({});
    await eventually('the time', async () => (await ofSchedule(api, 'GET', fired.id)).state === 'ended', 60_000);
    await follows('follow', {
      [kept.id]: 'version 1',
      [deleted.id]: null,
      [changed.id]: 'version 2, paused',
      [created.id]: 'version 1',
      [fired.id]: null,
    });

    const all = [...system.apis, ...system.workers];
    await Promise.all(all.map((each) => each.kill()));
    await system.postgres!.kill();
    const restored = await backup.restore();
    try {
      for (const each of all) each.env.DATABASE_URL = restored.url;
      const began = performance.now();
      await Promise.all(all.map((each) => each.start()));
      await follows('agree with the backup', {
        [kept.id]: 'version 1',
        [deleted.id]: 'version 1',
        [changed.id]: 'version 1',
        [created.id]: null,
        [fired.id]: null,
      });
      console.log(`      ${backup.how}: agreed ${((performance.now() - began) / 1000).toFixed(0)} s after the start`);
      expect((await api('GET', `/v1/schedules/${created.id}`)).status).to.equal(404);
      expect(await ofSchedule(api, 'GET', changed.id)).to.include({ state: 'active' });
      const runs = await runsOf(api, fired.id);
      expect(runs).to.have.lengthOf(1);
      expect(runs[0]).to.include({ state: 'started', scheduled_at: fired.at });
      const { last_run: run } = await ofSchedule(api, 'POST', deleted.id, '/run');
      expect(run).to.include({ state: 'started' });
      for (const { session_id } of [runs[0], run]) {
        await eventually('the end of the turn', async () => {
          return (await system.history(session_id, system.key)).at(-1)?.type === 'turn.completed';
        });
      }
    } finally {
      await Promise.all(all.map((each) => each.kill()));
      await restored.stop();
    }
  });
});
