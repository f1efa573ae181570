import { raceEnds } from '../support/steering-races.js';
import { startTurnService, type TurnService } from '../support/turns.js';

const RACES = 500;

/** contract.md §9: what is accepted is never lost and never delivered twice. */
describe('steering against the end of a turn', () => {
  let service: TurnService;
  before(async () => {
    service = await startTurnService();
  });
  after(() => service.close());

  it(`gives each message to exactly one turn (${RACES} times)`, async function () {
    this.timeout(900_000);
    await raceEnds(service, RACES);
  });
});
