import type { ModelAnswer } from '../../src/models/content.js';
import { openDataSource } from '../../src/db/data-source.js';
import { createLogger } from '../../src/platform/logger.js';
import { createKey } from '../../src/projects/api-keys.js';
import { loadConversation } from '../../src/steps/conversation.js';
import { beginModelCall } from '../../src/steps/model-call.js';
import { storeStep } from '../../src/steps/model-step.js';
import { Notifier } from '../../src/stream/notify.js';
import { acceptMessage } from '../../test/support/accept-message.js';
import { ATTEMPT_ID, CALLED_MODEL, PLAIN_STEP } from '../../test/support/attempt-id.js';
import { insertSessions } from '../../test/support/factories.js';
import { watchStatements } from '../../test/support/round-trips.js';
import { cpuOfPostgres, inParallel, median } from '../measure.js';
import { scenario } from '../scenario.js';
import { row } from '../table.js';

const AT_ONCE = 6;
const WARM_UP = 600;
const MESSAGE = { content: 'Hello', files: [], skills: [] };
const ANSWER = {
  ...{ content: [{ type: 'text', text: 'Done.' }], stopReason: 'end_turn', firstTokenMs: 1 },
  usage: { input_tokens: 40, output_tokens: 2, cache_read_input_tokens: 0, cache_creation_input_tokens: 0 },
} as unknown as ModelAnswer;

/** CPU time, so that other work on the machine disturbs little. To compare two builds, run them in turns. */
export default scenario({
  measures:
    'what storing a plain turn costs: CPU of Postgres and of the process, statements; no HTTP, Temporal and model',
  options: { turns: 600, rounds: 5 },
  async run(bench, { turns, rounds }) {
    const postgres = await bench.postgres();
    const db = await openDataSource(postgres.url, AT_ONCE, 'bench');
    bench.atEnd(() => db.destroy());
    const log = createLogger('silent', 'bench');
    const notifier = new Notifier(db, log);
    const deps = { db, log, notifier, workflows: { namespace: 'bench', start: async () => true } };
    const { projectId } = await createKey(db, { project: 'bench' });
    const sessions = await insertSessions(db, projectId, WARM_UP + turns * rounds + 1);
    // Each in a session of its own: a longer conversation is another question.
    const turn = async (): Promise<void> => {
      const { id } = await acceptMessage(db, projectId, sessions.pop()!, MESSAGE, 'bench');
      await loadConversation(db, id);
      const call = await beginModelCall(deps, id, 1, ATTEMPT_ID, CALLED_MODEL);
      await storeStep(deps, { call, answer: ANSWER, ...PLAIN_STEP });
    };
    const run = async (count: number): Promise<void> => {
      await inParallel(AT_ONCE, count, turn);
      await notifier.flush();
    };
    await run(WARM_UP);
    const figures: Record<'process' | 'postgres', number[]> = { process: [], postgres: [] };
    for (let round = 0; round < rounds; round += 1) {
      const before = { process: process.cpuUsage(), postgres: cpuOfPostgres(postgres.pid) };
      await run(turns);
      const { user, system } = process.cpuUsage(before.process);
      figures.process.push((user + system) / 1_000 / turns);
      figures.postgres.push(((cpuOfPostgres(postgres.pid) - before.postgres) * 1_000) / turns);
    }
    for (const [name, ms] of Object.entries(figures))
      row(
        `CPU of ${name === 'process' ? 'the process' : 'Postgres'}, ms a turn`,
        `${median(ms).toFixed(2)} (${ms.map((one) => one.toFixed(2)).join(', ')})`,
      );
    const sent: boolean[] = [];
    const stop = watchStatements(({ beginsRoundTrip }) => sent.push(beginsRoundTrip));
    await turn();
    await notifier.flush();
    stop();
    row('statements', `${sent.length}, in ${sent.filter(Boolean).length} round trips`);
  },
});
