import { expect } from 'chai';
import { MAX_ANSWER_VALUES, MAX_LIST_VALUES, MAX_SHORT_VALUES } from '../../../src/mcp/transport/answer-body.js';
import { failureOf } from '../../support/failure.js';
import { isOutcomeUnknown, mcpCalls, textOf, type McpCalls } from '../../support/mcp-calls.js';
import { resultJson, startRawServer, type Form, type RawAnswer } from '../../support/raw-answers.js';
import type { TestMcpServer } from '../../support/mcp-server.js';
import { useClosers } from '../../support/use.js';

const PING = '{"jsonrpc":"2.0","id":7,"method":"ping"}';
const BATCH = /its answer is a JSON array \(a batch\)/;
const INITIALIZED =
  '"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"raw","version":"1"}';

/** A list of `count` values: itself and `count - 1` numbers. */
const values = (count: number): string =>
  `[${Array(count - 1)
    .fill(1)
    .join(',')}]`;

for (const form of ['json', 'stream'] as const satisfies readonly Form[]) {
  describe(`hostile answers of an MCP server (${form})`, () => {
    const closers = useClosers();

    const start = async (answer: RawAnswer): Promise<TestMcpServer> => {
      const server = await startRawServer(form, answer);
      closers.push(() => server.close());
      return server;
    };
    const callsOf = (server: TestMcpServer): McpCalls => {
      const calls = mcpCalls({ hosts: [server.host] });
      closers.unshift(() => calls.close());
      return calls;
    };
    const call = (server: TestMcpServer): ReturnType<McpCalls['call']> => {
      const calls = callsOf(server);
      return calls.call(calls.row('s', server.url), 'a');
    };
    const verify = (server: TestMcpServer): Promise<unknown> => {
      const calls = callsOf(server);
      return calls.mcp.verify(calls.row('s', server.url, { pin_tools: true }), new AbortController().signal);
    };
    const probe = (server: TestMcpServer): Promise<unknown> => callsOf(server).probe(server.url);
    const failure = async (work: Promise<unknown>): Promise<string> => (await failureOf(work)).message;

    for (const method of ['initialize', 'tools/list', 'tools/call']) {
      it(`hostile answers of an MCP server (${form}) refuses an array as the answer to ${method} and answers none of its pings`, async () => {
        const batch = (id: number): string => `[${`${PING},`.repeat(20_000)}${resultJson(id, '{"tools":[]}')}]`;
        const server = await start((asked, id) => (asked === method ? batch(id) : undefined));
        if (method === 'tools/call') expect(textOf(await call(server))).to.match(BATCH);
        else {
          expect(await failure(probe(server))).to.match(BATCH);
          expect(await failure(verify(server))).to.match(BATCH);
        }
        expect(
          server.log.filter((one) => one === 'POST'),
          'replies',
        ).to.have.length(0);
      });
    }

    it(`hostile answers of an MCP server (${form}) takes 250,000 values of a tool result, and no more`, async () => {
      // The message, its id, version and result, `_meta` and the parts.
      const around = 6;
      const answer =
        (count: number): RawAnswer =>
        (method, id) =>
          method === 'tools/call' ? resultJson(id, `{"content":[],"_meta":${values(count - around + 1)}}`) : undefined;
      expect(textOf(await call(await start(answer(MAX_ANSWER_VALUES))))).to.equal('[The tool returned no content.]');
      const refused = await call(await start(answer(MAX_ANSWER_VALUES + 1)));
      expect(textOf(refused)).to.include(
        'its answer has more than 250,000 JSON values: it has to send fewer at a time',
      );
      expect([refused.isError, isOutcomeUnknown(refused)]).to.deep.equal([true, true]);
    });

    it(`hostile answers of an MCP server (${form}) takes 64,000 values of a tool list over all its pages, and no more`, async () => {
      const around = 7;
      const list =
        (counts: number[]): RawAnswer =>
        (method, id) => {
          if (method !== 'tools/list') return undefined;
          const count = counts.shift()!;
          const more = counts.length > 0 ? `,"nextCursor":"${counts.length}"` : ',"x":1';
          return resultJson(id, `{"tools":[],"_meta":${values(count - around + 1)}${more}}`);
        };
      const half = MAX_LIST_VALUES / 2;
      for (const work of [probe, verify]) {
        await work(await start(list([half, half])));
        expect(await failure(work(await start(list([half, half + 1]))))).to.match(
          /its tool list has more than 64,000 JSON values/,
        );
      }
    });

    it(`hostile answers of an MCP server (${form}) takes 2,000 values of the answer to initialize, and no more`, async () => {
      const around = 11;
      const answer =
        (count: number): RawAnswer =>
        (method, id) =>
          method === 'initialize' ? resultJson(id, `{${INITIALIZED},"x":${values(count - around + 1)}}`) : undefined;
      await probe(await start(answer(MAX_SHORT_VALUES)));
      expect(await failure(probe(await start(answer(MAX_SHORT_VALUES + 1))))).to.match(
        /its answer to initialize or ping has more than 2,000 JSON values/,
      );
    });

    it(`hostile answers of an MCP server (${form}) takes 1 MiB of the answer to initialize, and no more`, async () => {
      const answer =
        (length: number): RawAnswer =>
        (method, id) => {
          const json = resultJson(id, `{${INITIALIZED},"instructions":""}`);
          const text = 'x'.repeat(length - json.length - (form === 'json' ? 0 : 8));
          return method === 'initialize' ? json.replace('"instructions":""', `"instructions":"${text}"`) : undefined;
        };
      await probe(await start(answer(1024 * 1024)));
      expect(await failure(probe(await start(answer(1024 * 1024 + 1))))).to.match(/its answer is too large/);
    });

    it(`hostile answers of an MCP server (${form}) keeps results from the SDK, whose check would need seconds`, async () => {
      const keys = Array.from({ length: 100_000 }, (_, n) => `"k${n}":1`).join(',');
      const server = await start((method, id) =>
        method === 'tools/call' ? resultJson(id, `{"content":[{"type":"text","text":"fine"}],${keys}}`) : undefined,
      );
      const began = process.cpuUsage();
      expect(textOf(await call(server))).to.equal('fine');
      const { user } = process.cpuUsage(began);
      // 0.1 s of it is JSON.parse.
      expect(user / 1e6, 'seconds of CPU').to.be.lessThan(1);
    });

    it(`hostile answers of an MCP server (${form}) takes ids as strings, and answers to no other request`, async () => {
      const text = (said: string): string => `{"content":[{"type":"text","text":"${said}"}]}`;
      const server = await start((method, id) =>
        method === 'tools/call' ? resultJson(id, text('fine')).replace(`"id":${id}`, `"id":"${id}"`) : undefined,
      );
      expect(textOf(await call(server))).to.equal('fine');
      const other = await start((method, id) =>
        method === 'tools/call' ? resultJson(id + 1, text('not yours')) : undefined,
      );
      expect(textOf(await call(other)))
        .to.match(/its outcome is unknown/i)
        .and.not.to.include('not yours');
    });
  });
}
