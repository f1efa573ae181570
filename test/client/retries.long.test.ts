import { expect } from 'chai';
import { AgentSessionClient, ApiError, ConnectionError, type Retry } from '../../client/src/index.js';
import { eventually } from '../support/eventually.js';
import { useFaultyProxy, useService } from '../support/use.js';

const AWAY = { answer: { status: 503, headers: { 'X-Should-Retry': 'true', 'Retry-After': '1' } } };

describe('retries of the client', () => {
  let client: AgentSessionClient;
  const service = useService();
  const proxy = useFaultyProxy(() => service.url);
  before(async () => {
    client = new AgentSessionClient({ baseUrl: proxy.url, apiKey: service.key });
  });
  beforeEach(() => {
    proxy.requests.length = 0;
    proxy.faults.length = 0;
  });

  const create = (): Promise<{ id: string }> => client.createSession({ model_id: 'test-model' });
  const sessions = async (): Promise<number> => (await service.db.query('SELECT 1 FROM sessions')).length;

  it('retries of the client wait as long as the service asks', async () => {
    proxy.faults.push(AWAY);
    const started = performance.now();
    await create();
    expect(performance.now() - started).to.be.greaterThan(990);
    expect(proxy.requests).to.have.length(2);
  });

  it('retries of the client are reported before each wait, also those of a stream', async () => {
    const retries: Retry[] = [];
    const onRetry = (retry: Retry): void => void retries.push(retry);
    const observed = new AgentSessionClient({ baseUrl: proxy.url, apiKey: service.key, onRetry });
    proxy.faults.push(AWAY, { cut: 'before the answer' });
    const { id } = await observed.createSession({ model_id: 'test-model' });
    expect(retries.map(({ method, path, attempt }) => [method, path, attempt])).to.deep.equal([
      ['POST', '/v1/sessions', 1],
      ['POST', '/v1/sessions', 2],
    ]);
    expect(retries[0]!.error).to.be.instanceOf(ApiError).and.include({ status: 503 });
    expect(retries[0]!.delayMs).to.equal(1000);
    expect(retries[1]!.error).to.be.instanceOf(ConnectionError);

    const enough = new Error('enough');
    const leave = new AbortController();
    const stopping = new AgentSessionClient({
      baseUrl: proxy.url,
      apiKey: service.key,
      onRetry: (retry) => {
        onRetry(retry);
        leave.abort(enough);
      },
    });
    proxy.faults.push(AWAY);
    const events = stopping.stream(id, { signal: leave.signal })[Symbol.asyncIterator]();
    expect(await events.next().catch((error: unknown) => error)).to.equal(enough);
    expect(retries[2]).to.include({ method: 'GET', path: `/v1/sessions/${id}/events/stream`, attempt: 1 });
  });

  it('retries of the client have the effect once even if the first response was lost', async () => {
    const before = await sessions();
    proxy.faults.push({ cut: 'before the answer' }, { cut: 20 });
    const session = await create();
    expect(await sessions()).to.equal(before + 1);
    const keys = proxy.requests.map(({ headers }) => headers['idempotency-key']);
    expect(keys).to.have.length(3);
    expect(new Set(keys).size).to.equal(1);
    expect((await service.api('GET', `/v1/sessions/${session.id}`)).status).to.equal(200);
    await create();
    expect(proxy.requests.at(-1)!.headers['idempotency-key']).to.not.equal(keys[0]);
  });

  it('retries of the client upload the same bytes again, but a stream only once', async () => {
    proxy.faults.push({ cut: 'before the answer' });
    const { id } = await client.uploadFile({ filename: 'a.txt', content: 'content' });
    expect((await client.listFiles()).items.map((file) => file.id)).to.deep.equal([id]);
    proxy.faults.push({ cut: 'before the answer' });
    const streamed = client.uploadFile({ filename: 'b.txt', content: new Blob(['content']).stream() });
    expect(await streamed.catch((error: unknown) => error)).to.be.instanceOf(ConnectionError);
  });

  it('retries of the client are left out for a call of a tool, which may have run', async () => {
    proxy.faults.push({ cut: 'before the answer' });
    const called = client.callMcpTool('mcp_none', 'refund', { input: {} });
    expect(await called.catch((error: unknown) => error)).to.be.instanceOf(ConnectionError);
    expect(proxy.requests).to.have.length(1);
  });

  it('retries of the client succeed for a deletion whose first response was lost and whose retry gets 404', async () => {
    const { id } = await create();
    proxy.faults.push({ cut: 'before the answer' });
    await client.deleteSession(id);
    const again = await client.deleteSession(id).catch((error: unknown) => error);
    expect(again).to.include({ type: 'session_not_found' });
  });

  it('retries of the client are left out where they cannot help', async () => {
    const refusals = [
      { status: 409, headers: { 'X-Should-Retry': 'false' } },
      { status: 429, body: '{"type":"error","error":{"type":"too_many_running_turns","message":"Full."}}' },
      { status: 422 },
    ];
    for (const answer of refusals) {
      proxy.faults.push({ answer });
      expect(await create().catch((error: unknown) => error)).to.include({ status: answer.status, retryable: false });
    }
    expect(proxy.requests).to.have.length(refusals.length);
  });

  it('retries of the client end when the time is over, or would be', async () => {
    const hasty = new AgentSessionClient({ baseUrl: proxy.url, apiKey: service.key, retryForMs: 900 });
    proxy.faults.push(AWAY);
    const error = await hasty.listModels().catch((thrown: unknown) => thrown);
    expect(error).to.be.instanceOf(ApiError).and.include({ type: 'unknown', retryable: true, retryAfterMs: 1000 });
    expect(proxy.requests).to.have.length(1);
    const nowhere = new AgentSessionClient({ baseUrl: 'http://127.0.0.1:9', apiKey: 'none', retryForMs: 0 });
    expect(await nowhere.listModels().catch((thrown: unknown) => thrown)).to.be.instanceOf(ConnectionError);
  });

  it('retries of the client stop with the signal, its reason thrown', async () => {
    const leave = new AbortController();
    proxy.faults.push({ answer: { status: 503, headers: { 'X-Should-Retry': 'true', 'Retry-After': '30' } } });
    const waiting = client.listModels({}, { signal: leave.signal }).catch((error: unknown) => error);
    const reason = new Error('enough');
    await eventually('the first attempt', () => proxy.requests.length === 1);
    leave.abort(reason);
    expect(await waiting).to.equal(reason);
  });

  it('retries of the client give up an attempt that takes too long, and try again', async () => {
    const impatient = new AgentSessionClient({ baseUrl: proxy.url, apiKey: service.key, timeoutMs: 1500 });
    let release!: () => void;
    proxy.faults.push({ hold: new Promise<void>((resolve) => (release = resolve)) });
    expect((await impatient.listModels()).items).to.have.length(1);
    release();
    expect(proxy.requests).to.have.length.of.at.least(2);
  });
});
