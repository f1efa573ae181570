import { expect } from 'chai';
import { AgentSessionClient, ApiError, ConnectionError } from '../../client/src/index.js';
import { eventually } from '../support/eventually.js';
import { newToken, signToken } from '../support/tokens.js';
import { useService } from '../support/use.js';

/** docs/decisions.md "Session tokens", "Client". */
describe('a client whose apiKey is a function', () => {
  let sessionId: string;
  const service = useService();
  before(async () => {
    sessionId = (await service.api('POST', '/v1/sessions', { model_id: 'test-model' })).body.id;
  });
  const clientOf = (apiKey: () => string | Promise<string>): AgentSessionClient =>
    new AgentSessionClient({ baseUrl: service.url, apiKey });

  it('a client whose apiKey is a function asks once before the first request, however many begin together', async () => {
    let asked = 0;
    const client = clientOf(async () => {
      asked += 1;
      return service.key;
    });
    await Promise.all([client.getSession(sessionId), client.getSession(sessionId)]);
    await client.getSession(sessionId);
    expect(asked).to.equal(1);
  });

  it('a client whose apiKey is a function asks once again after a 401, for all requests that were refused together', async () => {
    const keys = ['sst_old.x', await newToken(service, sessionId)];
    let asked = 0;
    const client = clientOf(() => keys[asked++]!);
    await Promise.all([client.getSession(sessionId), client.getSession(sessionId)]);
    expect(asked).to.equal(2);
  });

  it('a client whose apiKey is a function throws the second 401', async () => {
    let asked = 0;
    const client = clientOf(() => `ask_wrong${(asked += 1)}`);
    const error: unknown = await client.getSession(sessionId).catch((thrown: unknown) => thrown);
    expect(error).to.be.instanceOf(ApiError).and.include({ status: 401 });
    expect(asked).to.equal(2);
  });

  it('a client whose apiKey is a function throws what the function throws, and asks again for the next request', async () => {
    const problem = new Error('signed out');
    let isSignedOut = true;
    const client = clientOf(() => {
      if (isSignedOut) throw problem;
      return service.key;
    });
    expect(await client.getSession(sessionId).catch((thrown: unknown) => thrown)).to.equal(problem);
    const stream = client.stream(sessionId)[Symbol.asyncIterator]();
    expect(await stream.next().catch((thrown: unknown) => thrown)).to.equal(problem);
    isSignedOut = false;
    expect((await client.getSession(sessionId)).id).to.equal(sessionId);
  });

  it('a client whose apiKey is a function goes on with a stream under the next token when one ends', async () => {
    let asked = 0;
    const client = clientOf(async () => {
      asked += 1;
      return signToken(service, sessionId, { expiresAt: Date.now() + (asked === 1 ? 1500 : 60_000) });
    });
    const leave = new AbortController();
    const events = client.follow(sessionId, { signal: leave.signal })[Symbol.asyncIterator]();
    const reading = events.next().catch((thrown: unknown) => thrown);
    await eventually('it asks for the next token', () => asked === 2);
    leave.abort(new Error('enough'));
    expect(await reading).to.include({ message: 'enough' });
  });

  it('a client whose apiKey is no key throws at once, and takes one that has a line end after it', async () => {
    for (const key of ['', 'ask_a\nb', 'ask_é', 'ask a']) {
      const client = new AgentSessionClient({ baseUrl: service.url, apiKey: key });
      const error: unknown = await client.getSession(sessionId).catch((thrown: unknown) => thrown);
      expect(error, JSON.stringify(key)).to.be.instanceOf(TypeError);
      expect((error as Error).message).to.include('is no key');
    }
    const client = new AgentSessionClient({ baseUrl: service.url, apiKey: `${service.key}\n` });
    expect((await client.getSession(sessionId)).id).to.equal(sessionId);
  });

  it('a client says why no answer came', async () => {
    const client = new AgentSessionClient({ baseUrl: 'http://127.0.0.1:1', apiKey: 'ask_key', retryForMs: 0 });
    const error: unknown = await client.listModels().catch((thrown: unknown) => thrown);
    expect(error).to.be.instanceOf(ConnectionError);
    expect((error as Error).message)
      .to.match(/^GET \/v1\/models: .*\(.+\)$/)
      .and.not.include('fetch failed');
  });
});
