import { budget, PRICE, tokens } from '../../test/support/money.js';
import { message, steps, text, toolUse } from '../../test/support/scripted-model.js';
import { count } from '../measure.js';
import { scenario } from '../scenario.js';
import { check, endWaits, OPTIONS, startSystem, startWaitingTurns } from '../waiting.js';

export default scenario({
  measures:
    'turns that wait for a larger budget: what they hold and what the waiting costs; fails unless each then goes on, once',
  options: OPTIONS,
  async run(bench, options) {
    const system = await startSystem(bench, options.turns, { price: PRICE });
    const { db, model } = system;
    // The first call costs 0.3; the second one does not fit.
    model.on(/Spend/, steps(message([toolUse('list_files')], tokens(300)), message([text('Done.')], tokens(2))));
    const turns = await startWaitingTurns(system, options, async () =>
      system.send(await system.session({ budget: budget('0.5', 'pause') }), 'Spend'),
    );
    await endWaits(system, turns, ({ sessionId }) =>
      system.insist('PATCH', `/v1/sessions/${sessionId}`, { budget: budget('1', 'pause') }),
    );
    check('  completed', await count(db, `SELECT count(*) FROM turns WHERE state = 'completed'`), options.turns);
    check('  model calls', model.requests.length, 2 * options.turns);
    const cost = await count(db, 'SELECT sum(cost) * 1000 AS count FROM turns');
    check('  cost of all, in thousandths', cost, 302 * options.turns);
  },
});
