import { expect } from 'chai';
import type { Finding } from '../../../ops/doctor/check.js';
import { diagnose } from '../../../ops/doctor/diagnose.js';
import { startApi } from '../../../api/main.js';
import { startWorker } from '../../../activities/main.js';
import { openDataSource } from '../../../src/db/data-source.js';
import { migrate } from '../../../src/db/migrate.js';
import { appliedMigrations } from '../../../src/db/unreleased.js';
import { createLogger } from '../../../src/platform/logger.js';
import { startFailure } from '../../../src/platform/setup-error.js';
import { failureOf } from '../../support/failure.js';
import { createTestDatabase, type TestDatabase } from '../../support/postgres.js';
import { restoreReleased } from '../../support/released-database.js';
import { useService } from '../../support/use.js';

const SENTENCE =
  /^This database was made by an unreleased version \(.+\), from which no migration leads to this one: keep a dump of it .+ start anew with an empty database .+upgrading\.md\.$/;

/** What databases of unreleased versions have in common: the migration's name, and another schema. */
const UNRELEASED: Record<string, [change: string, evidence: string]> = {
  'an earlier edit of the first migration': [
    'ALTER TABLE public.sessions DROP COLUMN fallback_model_ids; DROP TABLE public.elicitations',
    '(another index elicitations_open, index elicitations_pkey, index elicitations_turn and 2 more)',
  ],
  'another check in a table': [
    `ALTER TABLE public.tool_calls DROP CONSTRAINT tool_calls_state_check,
       ADD CONSTRAINT tool_calls_state_check CHECK (state IN ('pending', 'started', 'done'))`,
    '(another table tool_calls)',
  ],
  'another body of a function': [
    `CREATE OR REPLACE FUNCTION public.mcp_toolset_hash(tools json) RETURNS text LANGUAGE sql IMMUTABLE AS $$ SELECT '' $$`,
    '(another function mcp_toolset_hash)',
  ],
  'migrations from before they were folded into one': [
    `UPDATE public.migrations SET name = 'Initial1700000000001'; INSERT INTO public.migrations VALUES (2, 1700000000002, 'Turns1700000000002')`,
    '(migration Initial1700000000001)',
  ],
};

/** What operators add, and what the service does by itself. */
const HARMLESS = `
  CREATE INDEX ours ON public.turns (ended_at);
  CREATE SCHEMA reports; CREATE VIEW reports.turns AS SELECT id FROM public.turns;
  CREATE TABLE public.notes (id text PRIMARY KEY REFERENCES public.sessions);
  CREATE FUNCTION public.note() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END';
  CREATE TRIGGER note AFTER UPDATE ON public.turns FOR EACH ROW EXECUTE FUNCTION public.note();
  GRANT SELECT ON ALL TABLES IN SCHEMA public TO pg_monitor;
  ALTER TABLE public.turns SET (fillfactor = 60);
  ALTER TABLE public.events REPLICA IDENTITY FULL;
  CREATE PUBLICATION changes FOR TABLE public.events;
  DROP TABLE public.deltas_202611260050;
  CREATE TABLE public.deltas_later PARTITION OF public.deltas FOR VALUES FROM ('2030-01-01') TO ('2030-01-02')`;

describe('a database of an unreleased version', () => {
  const databases: TestDatabase[] = [];
  const restored = async (change: string): Promise<string> => {
    const database = await restoreReleased(change);
    databases.push(database);
    return database.url;
  };
  const service = useService({ own: 'its database is damaged' });
  after(async () => {
    for (const database of databases) await database.drop();
  });

  for (const [name, [change, evidence]] of Object.entries(UNRELEASED)) {
    it(`a database of an unreleased version is refused before it is migrated: ${name}`, async () => {
      const url = await restored(change);
      const { message } = await failureOf(migrate(url));
      expect(message).to.match(SENTENCE).and.to.contain(evidence);
      const db = await openDataSource(url, 1, 'test');
      expect((await appliedMigrations(db)).every(({ sha256 }) => sha256 === null)).to.equal(true);
      await db.destroy();
    });
  }

  it('a database of an unreleased version is none that operators have added to', async () => {
    expect(await migrate(await restored(HARMLESS))).to.not.be.empty;
  });

  it('a database of an unreleased version is none that a newer version has migrated, and one that knew another text of a migration', async () => {
    const database = await createTestDatabase();
    databases.push(database);
    const db = await openDataSource(database.url, 1, 'test');
    await db.query(`INSERT INTO migrations (timestamp, name) VALUES (1800000009999, 'Later1800000009999')`);
    expect(await migrate(database.url)).to.deep.equal([]);
    await db.query(`UPDATE migration_fingerprints SET sha256 = 'other' WHERE name ~ '2$'`);
    await db.destroy();
    expect((await failureOf(migrate(database.url))).message)
      .to.match(SENTENCE)
      .and.to.contain('another text of migration');
  });

  it('a database of an unreleased version is refused by the doctor, by an API and by a worker that start', async () => {
    const url = await restored(UNRELEASED['another body of a function']![0]);
    const config = { ...service.config, databaseUrl: url, databaseListenUrl: url };
    for (const start of [startApi, startWorker]) {
      expect(startFailure(await failureOf(start(config, createLogger('silent', 'test')))), start.name).to.match(
        SENTENCE,
      );
    }
    const env = {
      DATABASE_URL: url,
      ENCRYPTION_KEY: Buffer.alloc(32, 7).toString('base64'),
      MODELS_FILE: config.modelsFile!,
    };
    const schema = (await diagnose(env)).find(({ part }) => part === 'schema') as Finding;
    expect(schema.ok).to.equal(false);
    expect(`T${schema.detail.slice(1)}: k${schema.remedy!.slice(1)}`).to.match(SENTENCE);
  });

  it('a database of an unreleased version is not ready, and says why', async () => {
    expect((await fetch(`${service.url}/readyz`)).status).to.equal(200);
    const api = await service.anotherApi();
    await service.db.query(`UPDATE migration_fingerprints SET sha256 = 'other'`);
    const answer = await fetch(`${api.url}/readyz`);
    expect(answer.status).to.equal(503);
    const body = (await answer.json()) as { postgres: string; reason: string };
    expect(body.postgres).to.equal('away');
    expect(body.reason).to.match(SENTENCE);
  });
});
