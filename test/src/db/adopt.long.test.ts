import { expect } from 'chai';
import { migrate } from '../../../src/db/migrate.js';
import { earlierAnswers, restoreEarlier } from '../../support/earlier-database.js';
import { PRICE } from '../../support/money.js';
import { startTurnService } from '../../support/turns.js';

/** The part of an answer that the build of the database had: fields that came later do not count. */
function commonPart(answer: unknown, earlier: unknown): unknown {
  if (Array.isArray(answer) && Array.isArray(earlier)) return answer.map((item, n) => commonPart(item, earlier[n]));
  if (typeof answer !== 'object' || typeof earlier !== 'object' || answer === null || earlier === null) return answer;
  const known = Object.entries(answer).filter(([field]) => field in earlier);
  return Object.fromEntries(
    known.map(([field, value]) => [field, commonPart(value, (earlier as Record<string, unknown>)[field])]),
  );
}

describe('a service on a database of before 1.0.0', () => {
  it('a service on a database of before 1.0.0 answers as the build that made it did, and goes on with its sessions', async () => {
    const database = await restoreEarlier();
    await migrate(database.url);
    const service = await startTurnService({ databaseUrl: database.url, model: { price: PRICE } });
    try {
      const earlier = Object.entries(earlierAnswers());
      for (const end of ['', '/events?limit=100', '/timeline?limit=100', '/runs?limit=100', '/deliveries?limit=100']) {
        expect(
          earlier.filter(([path]) => path.split('/').length > 3 && path.endsWith(end)),
          end,
        ).to.not.be.empty;
      }
      for (const [path, answer] of earlier) {
        const { status, body } = await service.api('GET', path);
        expect(status, path).to.equal(200);
        expect(commonPart(body, answer), path).to.deep.equal(answer);
      }

      const [{ id: held }] = await service.db.query<[{ id: string }]>('SELECT session_id AS id FROM waiting_messages');
      const [{ id: long }] = await service.db.query<[{ id: string }]>(
        'SELECT session_id AS id FROM compactions JOIN turns USING (session_id) GROUP BY 1 ORDER BY count(*) DESC LIMIT 1',
      );
      service.model.on(/Behind it/, 'It ran.');
      service.model.on(/Go on/, 'Gladly.');
      await service.api('POST', `/v1/sessions/${held}/queue/release`);
      expect(await service.ended(held)).to.include({ type: 'turn.completed' });
      expect((await service.run(long, 'Go on')).at(-1)).to.include({ type: 'turn.completed' });
      const told = JSON.stringify(service.model.requests.at(-1)!.body.messages);
      expect(told).to.contain('What was said before.').and.contain('It rains.').but.not.contain('Bought one.');
    } finally {
      await service.close();
      await database.drop();
    }
  });
});
