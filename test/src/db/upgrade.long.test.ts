import { expect } from 'chai';
import { migrate } from '../../../src/db/migrate.js';
import { RELEASED_SESSIONS, restoreReleased } from '../../support/released-database.js';
import { startTurnService } from '../../support/turns.js';
import { customResult, sendAnswers } from '../../support/waiting-turns.js';

describe('an open turn of a released version', () => {
  it('an open turn of a released version takes the answer that it waits for in this version, and the message behind it follows', async () => {
    // It began a moment ago, whenever this test runs. Temporal has lost its workflow: the reconciler starts another one.
    const database = await restoreReleased(`
      UPDATE public.required_actions SET asked_at = clock_timestamp(), expires_at = clock_timestamp() + interval '1 day';
      UPDATE public.turns SET queued_at = clock_timestamp(), started_at = clock_timestamp(), progress_at = clock_timestamp(),
        waiting_started_at = clock_timestamp() WHERE state = 'running'`);
    await migrate(database.url);
    const service = await startTurnService({ databaseUrl: database.url });
    try {
      service.model.on(/tomorrow/, 'The sun shines.');
      service.model.on(/Weather/, 'It rains.');
      await sendAnswers(service, RELEASED_SESSIONS.waiting, [customResult('toolu_3', 'rain')]);
      await service.ended(RELEASED_SESSIONS.waiting);
      const said = (await service.history(RELEASED_SESSIONS.waiting)).filter(({ type }) => type === 'agent.message');
      expect(said.map(({ content }) => content as string)).to.deep.equal(['It rains.', 'The sun shines.']);
    } finally {
      await service.close();
      await database.drop();
    }
  });
});
