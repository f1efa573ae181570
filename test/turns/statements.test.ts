import { expect } from 'chai';
import { ConversationCache } from '../../src/steps/conversation-cache.js';
import { eventually } from '../support/eventually.js';
import { streaming } from '../support/open-turn.js';
import { message, steps, text, toolUse, type Reply } from '../support/scripted-model.js';
import { watchStatements, type Sent } from '../support/round-trips.js';
import { openSse, type SseReader } from '../support/sse-reader.js';
import { useMcpServer, useTurnService } from '../support/use.js';

/** Rounds of the reconcilers may fall into a turn: what all of a few turns send is the turn's own. */
const TURNS = 5;

/**
 * Sent by the reconciler each second: on a busy machine each turn meets one. And what shows the messages that wait, 2 s later:
 * of turns of other tests in this process.
 */
const OF_OTHERS = /UPDATE workers SET dead_at|FILTER \(WHERE steers = number\)/;

/** The statements that began a round trip: those behind it on its connection needed no answer before they were sent. */
function ownRoundTrips(sent: Sent[]): string[] {
  return sent
    .filter(({ text, beginsRoundTrip }) => beginsRoundTrip && !OF_OTHERS.test(text))
    .map(({ text }) => text.replaceAll(/\s+/g, ' ').slice(0, 100));
}

/** What both lists have, as often as both have them. */
function inBoth(one: string[], other: string[]): string[] {
  const left = [...other];
  return one.filter((statement) => {
    const index = left.indexOf(statement);
    if (index >= 0) left.splice(index, 1);
    return index >= 0;
  });
}

/**
 * How many round trips to Postgres a turn takes, from the arrival of POST messages to the notification of its terminal
 * event: transactions, notifications and all. A count, so that it holds on any machine.
 */
describe('the round trips of a turn', () => {
  const sent: Sent[] = [];
  let stop: () => void;
  const mcp = useMcpServer({ tools: [{ name: 'look', run: () => 'seen' }] });
  const service = useTurnService(() => ({ config: { mcpAllowedHosts: [mcp.host], rateLimitPerMinute: 1000 } }));
  before(() => {
    stop = watchStatements((one, pool) => {
      // What keeps the service going runs at its own times.
      if (!pool.endsWith(' background')) sent.push(one);
    });
  });
  after(() => stop());

  /** The round trips that each of a few turns takes which the model answers like this; its text has no delta. */
  const roundTripsOf = async (
    replies: Reply[],
    body: Record<string, unknown> = {},
    more: Record<string, unknown> = {},
    withKey = false,
  ): Promise<string[]> => {
    let common: string[] | undefined;
    for (let turn = 0; turn < TURNS; turn += 1) {
      service.model.on(/Go/, steps(...replies, message([text('')])));
      const sessionId = await service.session({ thinking_enabled: false, ...body });
      sent.length = 0;
      // Not by the client, which sends an Idempotency-Key: its claim is a transaction of its own.
      const headers: Record<string, string> = withKey ? { 'Idempotency-Key': sessionId } : {};
      await service.api('POST', `/v1/sessions/${sessionId}/messages`, { content: 'Go', ...more }, headers);
      // No look at the session, which would be statements too.
      const isOver = (): boolean => {
        const end = sent.findIndex(({ text }) => text.includes('DELETE FROM open_turns'));
        return end >= 0 && sent.slice(end).some(({ text }) => text.includes('pg_notify'));
      };
      await eventually('the turn is over', isOver);
      const own = ownRoundTrips(sent);
      common = common === undefined ? own : inBoth(common, own);
      await service.ended(sessionId);
    }
    return common!;
  };

  it('the round trips of a turn are at most twelve for one answer', async () => {
    const sent = await roundTripsOf([]);
    expect(sent.length, sent.join('\n')).to.be.at.most(12);
  });

  it('the round trips of a turn are two more with an Idempotency-Key: one takes it, one stores the answer', async () => {
    const one = await roundTripsOf([]);
    const keyed = await roundTripsOf([], {}, {}, true);
    expect(keyed.length - one.length, keyed.join('\n')).to.equal(2);
  });

  it('the round trips of a turn are two reads for a stream that opens: its session, and all frames so far', async () => {
    const { sessionId, gate } = await streaming(service);
    const other = await service.anotherApi();
    const streams: SseReader[] = [];
    const counts: number[] = [];
    for (let round = 0; round < TURNS; round += 1) {
      sent.length = 0;
      const stream = await openSse(`${other.url}/v1/sessions/${sessionId}/events/stream`, service.key);
      streams.push(stream);
      await stream.until(({ event }) => event === 'user.message');
      counts.push(sent.filter(({ text }) => /FROM (sessions|events)\b/.test(text)).length);
    }
    // A process that just begins to listen reads again what it may have missed.
    expect(Math.min(...counts), counts.join()).to.equal(2);
    gate.open();
    await Promise.all(streams.map(({ ended }) => ended));
  });

  it('the round trips of a turn are at most four more for a message that may wait and finds no open turn', async () => {
    const one = await roundTripsOf([]);
    for (const when_running of ['queue', 'steer']) {
      const sent = await roundTripsOf([], {}, { when_running });
      expect(sent.length - one.length, sent.join('\n')).to.be.at.most(4);
    }
  });

  it('the round trips of a turn are at most eight for the answer to a message that waits', async () => {
    for (const when_running of ['queue', 'steer']) {
      const { sessionId, gate } = await streaming(service);
      let common: string[] | undefined;
      for (let message = 0; message < TURNS; message += 1) {
        sent.length = 0;
        const answer = await service.api('POST', `/v1/sessions/${sessionId}/messages`, { content: 'Go', when_running });
        expect(answer.status).to.equal(201);
        const own = ownRoundTrips(sent);
        common = common === undefined ? own : inBoth(common, own);
        await service.api('DELETE', `/v1/sessions/${sessionId}/queue/${answer.body.id}`);
      }
      expect(common!.length, common!.join('\n')).to.be.at.most(8);
      gate.open();
      await service.ended(sessionId);
    }
  });

  it('the round trips of a turn are at most fourteen more for a tool call and the model step after it', async () => {
    const one = await roundTripsOf([]);
    const builtIn = await roundTripsOf([toolUse('list_files')]);
    expect(builtIn.length - one.length, builtIn.join('\n')).to.be.at.most(14);
  });

  it('the round trips of a turn are at most fourteen more with a call of an MCP tool', async () => {
    const { body } = await service.api('POST', '/v1/mcp-servers', { name: 'eyes', url: mcp.url });
    const session = { mcp_servers: [(body as { id: string }).id] };
    const one = await roundTripsOf([], session);
    const called = await roundTripsOf([toolUse('mcp__eyes__look')], session);
    expect(called.length - one.length, called.join('\n')).to.be.at.most(14);
  });

  it('the round trips of a turn read of a conversation what came since the last call, in the turn and in the next one', async () => {
    const { body } = await service.api('GET', '/v1/mcp-servers');
    // oxlint-disable-next-line typescript/unbound-method -- applied to the cache it was called on
    const find = ConversationCache.prototype.find;
    const known: (number[] | null)[] = [];
    ConversationCache.prototype.find = function (this: ConversationCache, ...of) {
      const found = find.apply(this, of);
      const steps = found === null ? null : found.turns.map((turn) => turn.steps.length);
      known.push(steps);
      return found;
    };
    try {
      for (const mcp_servers of [[], (body as { items: { id: string }[] }).items.map(({ id }) => id)]) {
        known.length = 0;
        const sessionId = await service.session({ thinking_enabled: false, mcp_servers });
        for (let turn = 0; turn < 2; turn += 1) {
          service.model.on(/Go/, steps(toolUse('list_files'), toolUse('list_files'), 'Done.'));
          await service.run(sessionId, 'Go');
        }
        expect(known).to.deep.equal([null, [0], [1], [2], [3, 0], [3, 1]]);
      }
    } finally {
      ConversationCache.prototype.find = find;
    }
  });
});
