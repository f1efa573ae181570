import { raceEnds } from '../support/steering-races.js';
import { useTurnService } from '../support/use.js';

const RACES = 500;

/** decisions.md "Messages while a turn runs": what is accepted is never lost and never delivered twice. */
describe('steering against the end of a turn', () => {
  const service = useTurnService();

  it(`steering against the end of a turn gives each message to exactly one turn (${RACES} times)`, async function () {
    this.timeout(900_000);
    await raceEnds(service, RACES);
  });
});
