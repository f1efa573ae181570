import { expect } from 'chai';
import { randomUUID } from 'node:crypto';
import type { ApiResponse } from '../../support/client.js';
import { reachedLimit } from '../../support/rows.js';
import { useTurnService } from '../../support/use.js';

/** A burst exceeds neither limit: session_running and too_many_running_turns. */
describe('messages posted in parallel', () => {
  const service = useTurnService({ workers: 0 });

  const post = (sessionId: string, api = service.api, headers = {}): Promise<ApiResponse> =>
    api('POST', `/v1/sessions/${sessionId}/messages`, { content: 'Hello' }, headers);
  const sessionsOf = (api = service.api, count = 1): Promise<string[]> =>
    Promise.all(
      Array.from({ length: count }, async () => (await api('POST', '/v1/sessions', { model_id: 'scripted' })).body.id),
    );
  const turnsOf = async (sessionId: string): Promise<string[]> =>
    (await service.history(sessionId)).map(({ turn_id }) => turn_id as string);

  it('of fifty messages posted in parallel to one session one is accepted, the others get session_running', async () => {
    const sessionId = await service.session();
    const answers = await Promise.all(Array.from({ length: 50 }, () => post(sessionId)));
    const accepted = answers.filter(({ status }) => status === 201);
    expect(accepted).to.have.length(1);
    for (const { status, body, headers } of answers.filter((answer) => !accepted.includes(answer))) {
      expect(`${status} ${body.error.type}`).to.equal('409 session_running');
      expect(headers.get('x-should-retry')).to.equal('false');
    }
    expect(await turnsOf(sessionId)).to.deep.equal([accepted[0]!.body.turn_id]);
  });

  it('a burst over many sessions: exactly max_running_turns are accepted, and one more when one ends', async () => {
    const api = service.as(await service.newKey({ project: 'bursting', maxRunningTurns: 7 }));
    const sessions = await sessionsOf(api, 30);
    const answers = await Promise.all(sessions.map((id) => post(id, api)));
    expect(answers.filter(({ status }) => status === 201)).to.have.length(7);
    for (const { status, body } of answers.filter(({ status }) => status !== 201)) {
      expect(`${status} ${body.error.type}`).to.equal('429 too_many_running_turns');
      expect(body.error.details).to.deep.equal({ max_running_turns: 7 });
    }
    // Other projects are not held up.
    expect((await post(await service.session())).status).to.equal(201);

    const [running, refused] = [201, 429].map((code) => sessions[answers.findIndex(({ status }) => status === code)]!);
    expect((await post(running!, api)).body.error.type).to.equal('session_running');
    expect((await api('POST', `/v1/sessions/${running}/cancel`)).body.status).to.equal('CANCELLED');
    expect((await post(refused!, api)).status).to.equal(201);
    expect((await post(running!, api)).status).to.equal(429);
    reachedLimit('running turns of a project');
  });

  it('messages posted in parallel with one Idempotency-Key: one turn, replayed', async () => {
    const sessionId = await service.session();
    const key = { 'Idempotency-Key': randomUUID() };
    const answers = await Promise.all(Array.from({ length: 20 }, () => post(sessionId, service.api, key)));
    for (const { status, body } of answers) {
      expect(status === 201 || body.error.type === 'idempotency_key_in_use', JSON.stringify(body)).to.equal(true);
    }
    const replay = await post(sessionId, service.api, key);
    expect(replay.status).to.equal(201);
    expect(replay.headers.get('idempotency-replayed')).to.equal('true');
    const first = answers.find(({ headers, status }) => status === 201 && !headers.has('idempotency-replayed'))!;
    expect(replay.body).to.deep.equal(first.body);
    expect(await turnsOf(sessionId)).to.deep.equal([first.body.turn_id]);

    const other = await service.api('POST', `/v1/sessions/${sessionId}/messages`, { content: 'Other' }, key);
    expect(`${other.status} ${other.body.error.type}`).to.equal('422 idempotency_key_reused');
  });

  it('a refused message leaves its Idempotency-Key free', async () => {
    const sessionId = await service.session();
    await service.send(sessionId, 'first');
    const key = { 'Idempotency-Key': randomUUID() };
    expect((await post(sessionId, service.api, key)).body.error.type).to.equal('session_running');
    await service.api('POST', `/v1/sessions/${sessionId}/cancel`);
    const { status, headers } = await post(sessionId, service.api, key);
    expect(status).to.equal(201);
    expect(headers.has('idempotency-replayed')).to.equal(false);
  });
});
