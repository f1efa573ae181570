import { pageOfEntries, listEntries, type AuditFilter } from '../../src/audit/list.js';
import { dropOldAuditPartitions } from '../../src/audit/partitions.js';
import { openDataSource } from '../../src/db/data-source.js';
import { createKey } from '../../src/projects/api-keys.js';
import { shown, timed, timedEach } from '../measure.js';
import { scenario } from '../scenario.js';
import { row } from '../table.js';

const MONTHS = 12;
const SAMPLES = 20;
const LIMIT = 100;

/** SQL writes the entries of a year, of one project. Then pages are timed by each filter, the first and one in the middle, and a month is dropped. */
export default scenario({
  measures: 'pages of the audit log by each filter, and the drop of its oldest month',
  options: { entries: 10_000_000 },
  async run(bench, { entries }) {
    const postgres = await bench.postgres();
    const db = await openDataSource(postgres.url, 4, 'bench', 'migration');
    bench.atEnd(() => db.destroy());
    const { projectId } = await createKey(db, { project: 'demo' });
    const indexes = await db.query<{ name: string; definition: string }[]>(
      `SELECT indexrelid::regclass::text AS name, pg_get_indexdef(indexrelid) AS definition FROM pg_index
       WHERE indrelid = 'audit_log'::regclass AND NOT indisprimary`,
    );
    // To build them at the end takes a tenth of the time.
    for (const { name } of indexes) await db.query(`DROP INDEX ${name}`);
    const took = await timed(async () => {
      for (let month = MONTHS - 1; month >= 0; month -= 1) {
        await db.query(`SELECT ensure_audit_partition(now() - $1 * interval '1 month')`, [month]);
        await db.query(
          `INSERT INTO audit_log (id, project_id, created_at, action, outcome, source, key_id, key_name, actor, resource_type,
             resource_id, session_id, details, request_id)
           SELECT 'aud_' || lpad(($2::bigint * $3 + n)::text, 26, '0'), $1, at, (ARRAY['sendAnswers', 'updateSession', 'createKey', 'deleteSession'])[1 + n % 4],
             CASE WHEN n % 1000 = 0 THEN 'refused' ELSE 'ok' END, 'key', 'key_' || lpad((n % 200)::text, 26, '0'), 'desk ' || n % 200,
             'person-' || n * 7919 % 5000 || '@example.com', 'session', 'ses_' || lpad((n * 104729 % 300000)::text, 26, '0'),
             'ses_' || lpad((n * 104729 % 300000)::text, 26, '0'), '{"type": "user.tool_confirmation", "result": "allow"}', 'req_' || md5(n::text)
           FROM generate_series(1, $3::bigint) AS n,
             LATERAL (SELECT date_trunc('month', now() - $2 * interval '1 month') + n * (interval '27 days' / $3::bigint) AS at) AS time`,
          [projectId, month, Math.ceil(entries / MONTHS)],
        );
      }
      await db.query(`SET maintenance_work_mem = '1GB'`);
      for (const { definition } of indexes) await db.query(definition.replace(' ON ONLY ', ' ON '));
    });
    row('filled in', `${(took / 1000).toFixed(0)} s`);
    await db.query('VACUUM (ANALYZE) audit_log');
    const [{ size }] = await db.query<[{ size: string }]>(
      `SELECT pg_size_pretty(sum(pg_total_relation_size(inhrelid))) AS size FROM pg_inherits WHERE inhparent = 'audit_log'::regclass`,
    );
    row('size', size);
    const service = await openDataSource(postgres.url, 4, 'bench');
    bench.atEnd(() => service.destroy());
    const [{ middle }] = await db.query<[{ middle: string }]>(`SELECT now() - interval '6 months' AS middle`);
    const filters: Record<string, AuditFilter> = {
      'no filter': {},
      action: { action: 'createKey' },
      'action that nobody took': { action: 'uploadSkill' },
      key_id: { key_id: `key_${'7'.padStart(26, '0')}` },
      actor: { actor: 'person-42@example.com' },
      resource_id: { resource_id: `ses_${'42'.padStart(26, '0')}` },
      'outcome refused': { outcome: 'refused' },
      'action and key_id that never meet': { action: 'createKey', key_id: `key_${'7'.padStart(26, '0')}` },
      from: { from: middle },
      to: { to: middle },
      'all of them': {
        ...{ action: 'createKey', key_id: `key_${'7'.padStart(26, '0')}`, actor: 'person-42@example.com' },
        ...{ outcome: 'ok', to: middle },
      },
    };
    for (const [name, filter] of Object.entries(filters)) {
      const page = (after: string[] | null) => () => listEntries(service, projectId, filter, { limit: LIMIT, after });
      row(name, shown(await timedEach(SAMPLES, page(null))));
      row(`${name}, from the middle`, shown(await timedEach(SAMPLES, page([middle, 'aud_z']))));
    }
    const { text, values } = pageOfEntries(projectId, { actor: 'nobody' }, { limit: LIMIT, after: null });
    const plan = await db.query<{ 'QUERY PLAN': string }[]>(`EXPLAIN (ANALYZE, BUFFERS) ${text}`, values);
    row('a page without a match', plan.at(-1)!['QUERY PLAN']);
    const day = 24 * 3600 * 1000;
    const days = Math.floor((Date.now() - Date.parse(middle)) / day) * 2 - 45;
    row('months dropped', String(await dropOldAuditPartitions(db, days)));
    row('one more month', `${(await timed(() => dropOldAuditPartitions(db, days - 31))).toFixed(0)} ms`);
  },
});
