import { expect } from 'chai';
import { agentTool, callAgent, createAgent } from '../support/child-agents.js';
import { watchStatements, type Sent } from '../support/round-trips.js';
import { message, steps, text } from '../support/scripted-model.js';
import { useTurnService } from '../support/use.js';

/** Of the reconcilers and of tests, not of turns. */
const OF_OTHERS =
  /UPDATE workers SET dead_at|FILTER \(WHERE steers = number\)|FROM turns\s+WHERE id = \(SELECT last_turn_id/;
/** The end of the test's own wait. */
const RUNS = 4;

/** What a call of an agent costs beside a turn that a message begins. Counts, so that they hold on any machine. */
describe('the statements of a child turn', () => {
  const sent: Sent[] = [];
  let stop: () => void;
  const service = useTurnService({ config: { rateLimitPerMinute: 1000 } });
  before(() => {
    stop = watchStatements((one, pool) => {
      if (!pool.endsWith(' background')) sent.push(one);
    });
  });
  after(() => stop());

  /** Statements and round trips of the cheapest of a few turns, from POST messages to the end. */
  const costOf = async (body: Record<string, unknown>): Promise<{ statements: number; roundTrips: number }> => {
    const counts: { statements: number; roundTrips: number }[] = [];
    for (let run = 0; run < RUNS; run += 1) {
      const sessionId = await service.session({ thinking_enabled: false, ...body });
      sent.length = 0;
      await service.api('POST', `/v1/sessions/${sessionId}/messages`, { content: 'Go' });
      await service.ended(sessionId);
      const own = sent.filter(({ text: statement }) => !OF_OTHERS.test(statement));
      const end = own.findLastIndex(({ text: statement }) => statement.includes('DELETE FROM open_turns'));
      const counted = own.slice(0, end + 1);
      counts.push({
        statements: counted.length,
        roundTrips: counted.filter(({ beginsRoundTrip }) => beginsRoundTrip).length,
      });
    }
    return counts.sort((a, b) => a.statements - b.statements)[0]!;
  };

  it('the statements of a child turn are those of a turn, and a few for its begin, its wait and its result', async () => {
    const agentId = await createAgent(service, 'cheap');
    service.model.on(/Go/, steps(message([text('')])));
    const plain = await costOf({});
    service.model.on(/Task/, steps(message([text('')])));
    const parentOf = (count: number) => {
      const calls = Array.from({ length: count }, () => callAgent('cheap', 'Task.'));
      service.model.on(/Go/, steps(calls, message([text('')])));
      return costOf({ tools: [agentTool(agentId)] });
    };
    const one = await parentOf(1);
    const three = await parentOf(3);
    const child = {
      statements: (three.statements - one.statements) / 2,
      roundTrips: (three.roundTrips - one.roundTrips) / 2,
    };
    console.log(
      `      plain ${JSON.stringify(plain)}, one child ${JSON.stringify(one)}, each further child ${JSON.stringify(child)}`,
    );
    expect(child.statements - plain.statements).to.be.at.most(32);
    expect(child.roundTrips - plain.roundTrips).to.be.at.most(14);
  });
});
