import { expect } from 'chai';
import {
  AgentSessionClient,
  ApiError,
  ConnectionError,
  verifyWebhook,
  WebhookVerificationError,
  type Retry,
  type StreamEvent,
} from '../../client/src/index.js';
import { startCaseServer } from '../support/case-server.js';
import { use } from '../support/use.js';
import cases from './cases.json' with { type: 'json' };

interface Expected {
  requests: number;
  pauses?: number[][];
  keys?: string;
  bodies?: string;
  error?:
    | 'connection'
    | { status: number; type: string; retryable: boolean; retry_after_ms?: number; message?: string };
  events?: string[];
  last_event_id?: string;
  sent?: (string | null)[];
  retries?: number;
  paths?: string;
}

interface Case {
  name: string;
  call: string;
  client?: { retry_for_ms?: number; timeout_ms?: number; reconnect_for_ms?: number };
  expect: Expected;
}

const CALLS: Record<string, (client: AgentSessionClient) => Promise<unknown>> = {
  listModels: (client) => client.listModels(),
  createSession: (client) => client.createSession({ model_id: 'm' }),
  'createSession with the key job-17': (client) =>
    client.createSession({ model_id: 'm' }, { idempotencyKey: 'job-17' }),
  deleteSession: (client) => client.deleteSession('ses_1'),
  callMcpTool: (client) => client.callMcpTool('mcp_1', 'refund', { input: {} }),
  uploadFile: (client) => client.uploadFile({ filename: 'a.txt', content: 'content' }),
  'uploadFile as a stream': (client) =>
    client.uploadFile({ filename: 'a.txt', content: new Blob(['content']).stream() }),
};

/** The cases that the Python client is tested with as well (python/tests/test_cases.py). */
describe('the cases of clients', () => {
  const server = use(startCaseServer, (started) => started.close());

  const start = (kind: string, { name, client = {} }: Case) => {
    const baseUrl = server.urlOf(kind, name, 'typescript');
    const retries: Retry[] = [];
    return {
      baseUrl,
      retries,
      client: new AgentSessionClient({
        baseUrl,
        apiKey: 'ask_1',
        onRetry: (retry) => retries.push(retry),
        ...(client.retry_for_ms !== undefined && { retryForMs: client.retry_for_ms }),
        ...(client.timeout_ms !== undefined && { timeoutMs: client.timeout_ms }),
      }),
    };
  };
  const check = (failure: unknown, expected: Expected, baseUrl: string, retries: Retry[]): void => {
    const requests = server.requestsOf(baseUrl);
    expect(requests, String(failure)).to.have.length(expected.requests);
    if (expected.error === undefined) expect(failure).to.equal(null);
    else if (expected.error === 'connection') expect(failure).to.be.instanceOf(ConnectionError);
    else {
      const { retry_after_ms, message = '', ...fields } = expected.error;
      expect(failure).to.be.instanceOf(ApiError).and.include(fields);
      if (retry_after_ms !== undefined) expect(failure).to.include({ retryAfterMs: retry_after_ms });
      expect((failure as Error).message).to.include(message);
    }
    if (expected.pauses !== undefined) {
      expect(retries).to.have.length(expected.pauses.length);
      for (const [n, [min, max]] of expected.pauses.entries())
        expect(retries[n]!.delayMs).to.be.within(min! - 1, max! + 1);
    }
    if (expected.retries !== undefined) expect(retries).to.have.length(expected.retries);
    const keys = new Set(requests.map(({ key }) => key));
    if (expected.keys === 'same')
      expect([...keys])
        .to.have.length(1)
        .and.not.include(null);
    else if (expected.keys !== undefined)
      expect([...keys]).to.deep.equal([expected.keys === 'none' ? null : expected.keys]);
    if (expected.bodies === 'same') expect(new Set(requests.map(({ body }) => body)).size).to.equal(1);
    if (expected.sent !== undefined) {
      expect(requests.map(({ last_event_id }) => last_event_id)).to.deep.equal(expected.sent);
    }
    for (const { path } of requests) expect(path).to.include(expected.paths ?? '');
  };

  for (const one of cases.requests as Case[]) {
    it(`retries of the client ${one.name}`, async () => {
      const { client, baseUrl, retries } = start('requests', one);
      const failure: unknown = await CALLS[one.call]!(client).then(
        () => null,
        (error: unknown) => error,
      );
      check(failure, one.expect, baseUrl, retries);
    });
  }

  for (const one of cases.streams as Case[]) {
    it(`streams of the client ${one.name}`, async () => {
      const { client, baseUrl, retries } = start('streams', one);
      const [method, after] = one.call.split(' after ');
      const again = one.client?.reconnect_for_ms === undefined ? {} : { reconnectForMs: one.client.reconnect_for_ms };
      const stream =
        method === 'follow'
          ? client.follow('ses_1', { after, ...again })
          : client.stream('ses_1', { ...(after !== undefined && { lastEventId: after }), ...again });
      const seen: StreamEvent[] = [];
      let failure: unknown = null;
      try {
        for await (const event of stream) seen.push(event);
      } catch (error) {
        failure = error;
      }
      expect(seen.map(({ type }) => type)).to.deep.equal(one.expect.events);
      if (one.expect.last_event_id !== undefined) expect(stream.lastEventId).to.equal(one.expect.last_event_id);
      check(failure, one.expect, baseUrl, retries);
    });
  }

  describe('with webhooks', () => {
    const { now } = Date;
    before(() => {
      Date.now = () => cases.now * 1000;
    });
    after(() => {
      Date.now = now;
    });

    for (const { name, body, headers, secrets, tolerance, error } of cases.webhooks as {
      name: string;
      body: string;
      headers: Record<string, string>;
      secrets: string | string[];
      tolerance?: number;
      error?: string;
    }[]) {
      it(`verifyWebhook of the client ${name}`, async () => {
        const options = tolerance === undefined ? {} : { toleranceSeconds: tolerance };
        const outcome: unknown = await verifyWebhook(body, headers, secrets, options).catch(
          (thrown: unknown) => thrown,
        );
        if (error === undefined) return void expect(outcome).to.deep.equal(JSON.parse(body));
        expect(outcome).to.be.instanceOf(error === 'secret' ? TypeError : WebhookVerificationError);
        expect((outcome as Error).message).to.include(error);
      });
    }
  });
});
