import { expect } from 'chai';
import type { RoleProcess } from '../../support/role-process.js';
import { eventually } from '../../support/eventually.js';
import { checkAgainstOpenApi } from '../../support/openapi-check.js';
import { openSse, type SseReader } from '../../support/sse-reader.js';
import { apiClient } from '../../support/client.js';
import { newToken } from '../../support/tokens.js';
import { useFaultSystem } from '../../support/use.js';

/** docs/decisions.md "Session tokens": the streams of a session's tokens, when a process that serves them dies or freezes. */
describe('the streams of tokens of a process that is gone', () => {
  const system = useFaultSystem({ apis: 3, workers: 0 });
  const streams: SseReader[] = [];
  after(() => streams.forEach((stream) => stream.close()));

  const newSession = async (api: RoleProcess): Promise<{ id: string; token: string }> => {
    const call = apiClient(api.url, await system.newKey('demo'), checkAgainstOpenApi);
    const { body } = await call('POST', '/v1/sessions', { model_id: 'scripted' });
    return { id: body.id, token: await newToken({ api: call }, body.id) };
  };
  const open = async (api: RoleProcess, { id, token }: { id: string; token: string }): Promise<SseReader> => {
    const stream = await openSse(`${api.url}/v1/sessions/${id}/events/stream`, token);
    streams.push(stream);
    return stream;
  };
  const openTen = async (api: RoleProcess, session: { id: string; token: string }): Promise<SseReader[]> => {
    const opened = await Promise.all(Array.from({ length: 10 }, () => open(api, session)));
    expect(opened.map(({ status }) => status)).to.deep.equal(Array.from({ length: 10 }, () => 200));
    return opened;
  };

  it('the streams of tokens of a process that was killed leave their room to others when its lease has run out', async () => {
    const [dying, other] = system.apis as [RoleProcess, RoleProcess, RoleProcess];
    const session = await newSession(other);
    await openTen(dying, session);
    expect((await open(other, session)).status).to.equal(429);
    await dying.kill();
    await eventually('there is room', async () => (await open(other, session)).status === 200, 20_000);
  });

  it('the streams of tokens of a process that was frozen end if others have taken their room, else they go on', async () => {
    const [, other, frozen] = system.apis as [RoleProcess, RoleProcess, RoleProcess];
    const [crowded, quiet] = [await newSession(other), await newSession(other)];
    const before = await openTen(frozen, crowded);
    const kept = await open(frozen, quiet);
    frozen.freeze();
    await eventually('there is room', async () => (await open(other, crowded)).status === 200, 20_000);
    for (let count = 1; count < 10; count += 1) expect((await open(other, crowded)).status).to.equal(200);
    expect(await system.db.query('SELECT FROM token_streams WHERE session_id = $1', [quiet.id])).to.have.length(0);
    frozen.thaw();
    await Promise.all(before.map(({ ended }) => ended));
    await eventually('the other session’s stream has a slot again', async () => {
      const rows = await system.db.query<unknown[]>('SELECT FROM token_streams WHERE session_id = $1', [quiet.id]);
      return rows.length === 1;
    });
    const { comments } = kept;
    const pings = comments.length;
    await eventually('the other session’s stream goes on', () => comments.length > pings, 15_000);
    expect((await open(frozen, crowded)).status).to.equal(429);
  });
});
