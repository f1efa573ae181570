import { cpus, loadavg } from 'node:os';
import pg from 'pg';
import type { FaultSystem } from '../../test/support/fault-system.js';
import { wait } from '../../test/support/scripted-model.js';
import { pause, quantile, ratios, shown, timed, timedEach } from '../measure.js';
import { scenario } from '../scenario.js';
import { row } from '../table.js';
import { fillInBatches, TURNS_PER_SESSION } from './growth.js';

const WARM_UP = 50;
/** From the request to the first sample beside it. */
const BEGIN_MS = 500;
const MAX_RATIO = 2;

/**
 * One project erases a person, another one works, a third one only has rows. Samples without and with an erasure take turns, so that other
 * work of the machine falls on both.
 */
export default scenario({
  measures:
    'turns of a project while another one erases a person with --sessions of ten turns and a file each, --open of them with an open turn; --rounds persons, --samples between them; the tables also have --turns and as many files of a third project; fails beyond twice the p95',
  options: { sessions: 2000, open: 20, rounds: 3, samples: 100, turns: 500_000 },
  async run(bench, { sessions, open, rounds, samples, turns }) {
    const system = await bench.system({ ownPostgres: true });
    const { db, model } = system;
    model.on(/Work/, 'Done.');
    model.on(/Wait/, wait(new Promise(() => undefined)));
    const neighbour = await system.newKey('neighbour');
    await system.newKey('others');
    const client = new pg.Client({ connectionString: system.postgres!.url });
    await client.connect();
    bench.atEnd(() => client.end());
    const idOf = async (project: string): Promise<string> =>
      (await db.query<[{ id: string }]>('SELECT id FROM projects WHERE name = $1', [project]))[0].id;
    const ofPersons = rounds * sessions * TURNS_PER_SESSION;
    const took = await timed(async () => {
      await fillInBatches(client, await idOf('demo'), 0, ofPersons);
      await fillInBatches(client, await idOf('others'), ofPersons, ofPersons + turns);
      await name(client, sessions);
    });
    row('filled in', `${(took / 1000).toFixed(0)} s`);
    const work = (): Promise<number> => turnOf(system, neighbour);
    await timedEach(WARM_UP, work);
    const [quiet, beside]: [number[], number[]] = [[], []];
    for (let round = 0; round < rounds; round += 1) {
      const user = `person-${round}`;
      for (let n = 0; n < open; n += 1) await system.send(await system.session({ user }), 'Wait');
      console.log(`load ${loadavg()[0]!.toFixed(1)} on ${cpus().length} cores`);
      for (let n = 0; n < samples; n += 1) quiet.push(await work());
      const began = performance.now();
      const { body: erasure } = await system.insist('POST', '/v1/erasures', { user, attached_files: true });
      await pause(BEGIN_MS);
      let shownNow = erasure;
      while (shownNow.status !== 'done') {
        beside.push(await work());
        shownNow = (await system.insist('GET', `/v1/erasures/${erasure.id}`)).body;
      }
      const seconds = ((performance.now() - began) / 1000).toFixed(1);
      row(`erasure of ${shownNow.sessions} sessions, ${shownNow.files} files`, `${seconds} s`);
    }
    row('turns before', `${quiet.length}: ${shown(quiet)}`);
    row('turns meanwhile', `${beside.length}: ${shown(beside)}`);
    row('against before', ratios(beside, quiet));
    if (!(quantile(beside, 0.95) / quantile(quiet, 0.95) <= MAX_RATIO)) process.exitCode = 1;
  },
});

/** Gives the sessions of the project their persons, and each session of both projects a file; usage has all turns. */
async function name(client: pg.Client, sessionsOfPerson: number): Promise<void> {
  await client.query(
    `UPDATE sessions SET end_user = 'person-' || (numbered.n - 1) / $1::integer
     FROM (SELECT id, row_number() OVER (ORDER BY created_at) AS n FROM sessions
           WHERE project_id = (SELECT id FROM projects WHERE name = 'demo')) AS numbered
     WHERE sessions.id = numbered.id`,
    [sessionsOfPerson],
  );
  await client.query(
    `INSERT INTO files (id, project_id, filename, mime_type, size_bytes, origin, session_id, storage_key)
     SELECT 'file_' || right(id, 26), project_id, 'a.txt', 'text/plain', 1, 'OUTPUT', id, 'files/' || id FROM sessions`,
  );
  await client.query(
    `INSERT INTO turn_usage (turn_id, model_id, project_id, session_id, ended_at, metadata, model_calls, input_tokens, output_tokens,
       cache_read_input_tokens, cache_creation_input_tokens, cost, currency, is_unpriced, is_first)
     SELECT t.id, 'm', t.project_id, t.session_id, t.ended_at,
       CASE WHEN s.end_user IS NULL THEN '{}' ELSE json_build_object('', s.end_user) END, 1, 1, 1, 0, 0, 0, 'USD', false, true
     FROM turns t JOIN sessions s ON s.id = t.session_id`,
  );
  await client.query('VACUUM (ANALYZE)');
  await client.query('CHECKPOINT');
}

/** Milliseconds from the message to the end of its turn. */
async function turnOf(system: FaultSystem, key: string): Promise<number> {
  const session = await system.session({}, key);
  return timed(async () => {
    const stream = await system.stream(await system.send(session, 'Work'));
    await stream.until(({ event }) => event === 'turn.completed');
    stream.close();
  });
}
