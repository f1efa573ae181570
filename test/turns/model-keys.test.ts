import { expect } from 'chai';
import { http, message, text, thinking, toolUse } from '../support/scripted-model.js';
import { useTurnService } from '../support/use.js';

const KEY = 'sk-scripted-0123456789abcdef';

describe('a model server that repeats its key', () => {
  before(() => (process.env.TEST_MODEL_KEY = KEY));
  const service = useTurnService({ model: { api_key_env: 'TEST_MODEL_KEY' } });
  after(() => delete process.env.TEST_MODEL_KEY);

  it('a model server that repeats its key does not get its key into an event, a table or the stream', async () => {
    // Cut at 500 characters, the second one would be half a key.
    const message = `invalid x-api-key ${KEY} ${'x'.repeat(450)} ${KEY}`;
    const refusal = JSON.stringify({ type: 'error', error: { type: 'authentication_error', message } });
    service.model.reply(http(401, refusal, { 'content-type': 'application/json' }));
    const session = await service.session({ thinking_enabled: false });
    const stream = await service.stream(session);
    const turnId = await service.send(session, 'Hello');
    const end = await service.ended(session);
    expect(end.error.message).to.contain('invalid x-api-key [credential] xx').and.not.contain('sk-scripted');
    await stream.ended;
    expect(service.model.requests[0]!.headers['x-api-key']).to.equal(KEY);

    const rows = await service.db.query<object[]>(
      `SELECT to_json(t) FROM turns t WHERE id = $1
       UNION ALL SELECT to_json(e) FROM events e WHERE turn_id = $1
       UNION ALL SELECT to_json(a) FROM model_calls a WHERE turn_id = $1`,
      [turnId],
    );
    expect(rows.length).to.be.above(2);
    expect(JSON.stringify([rows, stream.frames]))
      .to.contain('[credential]')
      .and.not.contain('sk-scripted');
  });

  it('a model server that repeats its key is replaced in the text and the tool calls of an answer, too', async () => {
    const said = [...`The key is ${KEY}.`];
    const call = toolUse(`ask_${KEY}`, JSON.stringify({ [KEY]: [KEY] }).replaceAll('k', '\\u006b'));
    service.model.reply(message([thinking(said), text(said), call]), 'Done.');
    const session = await service.session();
    const stream = await service.stream(session);
    const turnId = await service.send(session, 'Hello');
    await stream.ended;
    const events = await service.history(session);
    expect(events.find(({ type }) => type === 'agent.message')).to.include({ content: 'The key is [credential].' });
    expect(events.find(({ type }) => type === 'agent.tool_use').input).to.deep.equal({
      '[credential]': ['[credential]'],
    });
    const rows = await service.db.query<object[]>(
      `SELECT to_json(s) FROM model_steps s WHERE turn_id = $1 UNION ALL SELECT to_json(c) FROM tool_calls c WHERE turn_id = $1
       UNION ALL SELECT to_json(d) FROM deltas d WHERE turn_id = $1`,
      [turnId],
    );
    expect(JSON.stringify([rows, events, stream.frames]))
      .to.contain('[credential]')
      .and.not.contain('sk-scripted');
  });
});
