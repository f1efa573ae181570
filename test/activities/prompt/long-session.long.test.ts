import { expect } from 'chai';
import { failure, http, text, thinking, toolUse, wait, type ReceivedRequest } from '../../support/scripted-model.js';
import { useMcpServer, useTurnService } from '../../support/use.js';

const WINDOW = 8000;
/** More than a window holds. */
const MAX_TURNS = 20;

/** Older turns are summarised before the window is full; nothing else changes. */
describe('a session longer than its model’s context', () => {
  const mcp = useMcpServer({ tools: [{ name: 'look', run: () => 'Something that was found. '.repeat(100) }] });
  const service = useTurnService(() => ({
    config: { mcpAllowedHosts: [mcp.host], shutdownGraceSeconds: 0 },
    model: { context_window: WINDOW, max_output_tokens: 1000, thinking: 'adaptive' },
    scripted: { contextWindow: WINDOW },
  }));
  before(() => service.api('POST', '/v1/mcp-servers', { name: 'shop', url: mcp.url }));
  beforeEach(() => {
    const { model } = service;
    model.reset();
    model.script(({ step }) =>
      step === 0 ? [thinking('I look.'), toolUse('mcp__shop__look', { for: 'it' })] : `Found. ${'More. '.repeat(20)}`,
    );
    model.on(/<transcript>/, (_request, index) => text(`SUMMARY ${index}`));
  });
  afterEach(() => expect(service.model.refused.map(({ refused }) => refused)).to.deep.equal([]));

  const newSession = async (): Promise<string> => {
    const { body } = await service.api('GET', '/v1/mcp-servers');
    return service.session({ mcp_servers: [body.items[0].id], instruction: 'Mind the words.' });
  };
  const turn = async (sessionId: string, content: string) => {
    await service.send(sessionId, content);
    return service.ended(sessionId);
  };
  /** Sends messages until one's end is the wanted one; returns that end. */
  const turnsUntil = async (sessionId: string, isWanted: (end: Awaited<ReturnType<typeof turn>>) => boolean) => {
    for (let sent = 0; sent < MAX_TURNS; sent += 1) {
      const end = await turn(sessionId, 'Look again.');
      if (isWanted(end)) return end;
      expect(end).to.include({ type: 'turn.completed' });
    }
    return expect.fail(`not within ${MAX_TURNS} turns`);
  };
  const summaries = (): ReceivedRequest[] => service.model.requests.filter(({ userText }) => isSummary(userText));
  const compactions = async (sessionId: string): Promise<number> => {
    const rows = await service.db.query<unknown[]>('SELECT FROM compactions WHERE session_id = $1', [sessionId]);
    return rows.length;
  };

  it('a session longer than its model’s context is compacted again and again; each request fits, the history stays whole', async () => {
    const sessionId = await newSession();
    const ends = [];
    for (let number = 1; number <= 24; number += 1) ends.push(await turn(sessionId, `Message number ${number}.`));
    expect(ends.map(({ type, stop_reason }) => `${type} ${stop_reason}`)).to.deep.equal(
      ends.map(() => 'turn.completed end_turn'),
    );

    const history = await service.history(sessionId);
    const compacted = history.filter(({ type }) => type === 'agent.context_compacted');
    expect(compacted.length)
      .to.be.within(3, 20)
      .and.equal(await compactions(sessionId));
    const turns = compacted.reduce((sum, event) => sum + event.compacted_turns, 0);
    expect(turns).to.be.within(15, 23);
    const messages = history.filter(({ type }) => type === 'user.message').map(({ content }) => content as string);
    expect(messages).to.deep.equal(ends.map((_, index) => `Message number ${index + 1}.`));

    const last = JSON.stringify(service.model.requests.at(-1)!.body.messages);
    expect(last)
      .to.include(`SUMMARY ${summaries().length - 1}`)
      .and.include('Message number 24.');
    expect(last).to.not.include('Message number 1.');
    expect(summaries()[1]!.userText).to.include('<summary-so-far>\nSUMMARY 0\n');
  });

  it('a session longer than its model’s context counts the calls for summaries in the usage of their turn', async () => {
    const sessionId = await newSession();
    const end = await turnsUntil(sessionId, () => summaries().length > 0);
    expect(end.usage_details.model_calls).to.equal(2 + summaries().length);
    const [spent] = await service.db.query<{ input: number; output: number }[]>(
      `SELECT sum((usage->>'input_tokens')::int + (usage->>'cache_read_input_tokens')::int
         + (usage->>'cache_creation_input_tokens')::int)::int AS input, sum((usage->>'output_tokens')::int)::int AS output
       FROM model_calls WHERE turn_id = $1`,
      [end.turn_id],
    );
    expect(end.usage).to.deep.equal({ input_tokens: spent!.input, output_tokens: spent!.output });
  });

  it('a session longer than its model’s context survives a failed summary and an empty one', async () => {
    const { model } = service;
    const headers = { 'retry-after-ms': '5' };
    model.on(/<transcript>/, failure('overloaded_error', { headers }), text(' '), text('SUMMARY at last'));
    const sessionId = await newSession();
    const until = async (times: number): Promise<void> => {
      expect(await turnsUntil(sessionId, () => summaries().length >= times)).to.include({ type: 'turn.completed' });
    };
    await until(2);
    // Readers of the stream get the notice that the summary's model is away.
    const [streamed] = await service.db.query<[{ notices: number }]>(
      `SELECT count(*)::int AS notices FROM deltas JOIN turns ON turns.id = turn_id
       WHERE session_id = $1 AND runs LIKE '%agent.retry.delta%'`,
      [sessionId],
    );
    expect(streamed.notices).to.equal(1);
    expect(JSON.stringify(model.requests.at(-1)!.body.messages)).to.include('could not be summarised');
    await until(3);
    expect(JSON.stringify(model.requests.at(-1)!.body.messages)).to.include('SUMMARY at last');
  });

  it('a session longer than its model’s context is summarised in smaller pieces if the API counts more than the estimate', async () => {
    const { model } = service;
    model.on(
      /<transcript>/,
      http(400, '{"error":{"code":400,"message":"request (9 tokens) is over 8","type":"exceed_context_size_error"}}'),
      'SUMMARY in pieces',
    );
    const sessionId = await newSession();
    expect(await turnsUntil(sessionId, () => summaries().length > 0)).to.include({ type: 'turn.completed' });
    const [refused, ...pieces] = summaries().map(({ userText }) => userText.length);
    expect(pieces).to.have.length.above(1);
    expect(Math.max(...pieces)).to.be.below(refused! * 0.75);
    expect(await compactions(sessionId)).to.equal(1);
  });

  it('a session longer than its model’s context is not changed if the summary is cancelled, and the next turn compacts it', async () => {
    const { model } = service;
    const gate = model.gate();
    model.on(/<transcript>/, text('never', { before: { 0: wait(gate) } }), text('SUMMARY after'));
    const sessionId = await newSession();
    let cancelled = false;
    void gate.reached.then(async () => {
      await service.api('POST', `/v1/sessions/${sessionId}/cancel`);
      cancelled = true;
    });
    const end = await turnsUntil(sessionId, ({ type }) => type !== 'turn.completed' || summaries().length > 0);
    expect(end).to.include({ type: 'turn.cancelled' });
    expect(cancelled).to.equal(true);
    expect(await compactions(sessionId)).to.equal(0);
    expect(await turn(sessionId, 'And now?')).to.include({ type: 'turn.completed' });
    expect(await compactions(sessionId)).to.equal(1);
    const last = JSON.stringify(model.requests.at(-1)!.body.messages);
    expect(last).to.include('SUMMARY after').and.include('The previous turn was cancelled by the user');
  });

  it('a session longer than its model’s context is compacted once when the worker dies during the compaction', async () => {
    const { model } = service;
    const gate = model.gate();
    model.on(/<transcript>/, text('never', { before: { 0: wait(gate) } }), text('SUMMARY of the second'));
    const sessionId = await newSession();
    const [leaving] = service.workers;
    const handedOver = gate.reached.then(async () => {
      await leaving!.close();
      await service.startWorker();
    });
    const end = await turnsUntil(sessionId, () => summaries().length > 0);
    await handedOver;
    expect(end).to.include({ type: 'turn.completed' });
    expect(await compactions(sessionId)).to.equal(1);
    const events = (await service.history(sessionId)).filter(({ type }) => type === 'agent.context_compacted');
    expect(events).to.have.length(1);
  });

  it('a session longer than its model’s context fails with context_too_long only if a single message does not fit, and then continues', async () => {
    const sessionId = await newSession();
    const end = await turn(sessionId, 'word '.repeat(15_000));
    expect(end).to.include({ type: 'turn.failed' });
    expect(end.error).to.include({ type: 'context_too_long', retryable: false });
    expect(await turn(sessionId, 'Shorter.')).to.include({ type: 'turn.completed' });
  });
});

const isSummary = (userText: string): boolean => userText.includes('<transcript>');
