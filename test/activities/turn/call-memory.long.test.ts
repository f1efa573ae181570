import { expect } from 'chai';
import { eventually } from '../../support/eventually.js';
import { heapInUse } from '../../support/heap.js';
import { startSinkModel } from '../../support/sink-model.js';
import { use, useTurnService } from '../../support/use.js';

const MIB = 1024 * 1024;
const TURNS = 10;
/** Parsed, they take 4 MiB. */
const INPUT = { type: 'object', enum: Array(60_000).fill({}) };
const TOOLS = JSON.stringify([{ type: 'custom', name: 'dense', description: 'Dense', input_schema: INPUT }]);

describe('a model call that waits for its answer', () => {
  let answerAll = (): void => undefined;
  let hold = Promise.resolve();
  const model = use(
    () => startSinkModel(() => hold),
    (sink) => sink.close(),
  );
  const limits = { context_window: 2_000_000, max_output_tokens: 1000, supports_thinking: false };
  const service = useTurnService(() => ({
    models: [{ id: 'sink', display_name: 'Sink', model: 'sink', base_url: model.url, ...limits }],
  }));
  after(() => answerAll());

  const session = async (): Promise<string> => {
    const id = await service.session({ model_id: 'sink' });
    await service.db.query('UPDATE configurations SET tools = $1, model_tools = $1 WHERE id = $2', [TOOLS, id]);
    return id;
  };

  it('a model call that waits for its answer keeps no tools and no conversation', async () => {
    await service.run(await session(), 'warm up');
    const sessions = await Promise.all(Array.from({ length: TURNS }, session));
    hold = new Promise((resolve) => (answerAll = resolve));
    const before = heapInUse();
    await Promise.all(sessions.map((id) => service.send(id, 'Go')));
    await eventually('all answers have begun', async () => {
      const [row] = await service.db.query<[{ count: number }]>(
        'SELECT count(DISTINCT turn_id)::int AS count FROM deltas',
      );
      return row.count >= TURNS;
    });
    expect(heapInUse() - before).to.be.below(TURNS * 2 * MIB);
    answerAll();
    for (const id of sessions) expect((await service.ended(id)).type).to.equal('turn.completed');
  });
});
