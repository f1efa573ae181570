import { expect } from 'chai';
import fc from 'fast-check';
import type { McpTool } from '../../../src/db/entities/mcp-servers.js';
import { countJsonValues } from '../../../src/platform/value-count.js';
import { MAX_ANSWER_BYTES, MAX_ANSWER_VALUES, MAX_LIST_VALUES } from '../../../src/mcp/transport/answer-body.js';
import { hostileJson, reportFailure } from '../../support/hostile-json.js';
import { mcpCalls, type McpCalls } from '../../support/mcp-calls.js';
import { resultJson, startRawServer, type Form } from '../../support/raw-answers.js';
import type { TestMcpServer } from '../../support/mcp-server.js';
import { WorkCounter } from '../../support/work.js';

/** Other and more answers by hand: FUZZ_SEED=7 FUZZ_RUNS=1000 npx mocha test/src/mcp/fuzz.long.test.ts */
const SEED = Number(process.env.FUZZ_SEED ?? 26);
const RUNS = Number(process.env.FUZZ_RUNS ?? 10);
/** Blocks of JavaScript for an answer: looking at each byte takes up to 20 here and up to 20 in the client of the test. */
const BLOCKS_PER_BYTE = 60;
const BLOCKS_PER_ANSWER = 20_000_000;

const json = hostileJson({
  items: 300_000,
  depth: 100_000,
  length: 2_000_000,
  keys: ['text', 'image', 'resource', 'data', 'inputSchema', 'name', 'anyOf', '$ref'],
});

const parts = fc.oneof(
  json,
  fc.array(json, { maxLength: 5 }).map((items) => `[${items.join(',')}]`),
);
const damage = fc.option(fc.tuple(fc.nat(), fc.constantFrom('"', '[', '}', '', '\\', '\n')), { nil: null, freq: 5 });

function damaged(text: string, change: [number, string] | null): string {
  if (change === null) return text;
  const at = change[0] % text.length;
  return text.slice(0, at) + change[1] + text.slice(at + 1);
}

for (const form of ['json', 'stream'] as const satisfies readonly Form[]) {
  describe(`whatever an MCP server answers (${form})`, function () {
    this.timeout(600_000);
    let server: TestMcpServer;
    let calls: McpCalls;
    let answers: Record<string, string>;
    const counter = new WorkCounter();
    before(async () => {
      counter.start();
      server = await startRawServer(form, (method, id) => {
        const result = answers[method];
        return result === undefined ? undefined : resultJson(id, result).slice(0, MAX_ANSWER_BYTES);
      });
    });
    after(() => {
      counter.stop();
      return server.close();
    });

    /** Runs the work on each answer. It costs no more than the bytes of the answer allow. */
    const bounded = async (
      arbitrary: fc.Arbitrary<Record<string, string>>,
      work: () => Promise<void>,
    ): Promise<void> => {
      await fc.assert(
        fc.asyncProperty(arbitrary, async (next) => {
          answers = next;
          // Connections of their own: what a project's servers send unasked is limited over all of them.
          calls = mcpCalls({ hosts: [server.host] });
          counter.take();
          await work();
          await calls.close();
          const bytes = Object.values(next).reduce((sum, answer) => sum + answer.length, 0);
          expect(counter.take(), 'blocks').to.be.lessThan(BLOCKS_PER_ANSWER + BLOCKS_PER_BYTE * bytes);
        }),
        { seed: SEED, numRuns: RUNS, endOnFailure: true, reporter: reportFailure },
      );
    };

    it('a call ends with a result of bounded size', async () => {
      const result = fc
        .record({ content: parts, structured: json, isError: json, meta: json, change: damage })
        .map(({ content, structured, isError, meta, change }) => ({
          'tools/call': damaged(
            `{"content":${content},"structuredContent":${structured},"isError":${isError},"_meta":${meta}}`,
            change,
          ),
        }));
      await bounded(result, async () => {
        const { content, isError } = await calls.call(calls.row('s', server.url), 'a');
        expect(content).to.have.length.within(1, 1002);
        expect(content.reduce((sum, block) => sum + (block.type === 'text' ? block.text.length : 0), 0)).to.be.lessThan(
          MAX_ANSWER_BYTES + 1_500_000,
        );
        expect(countJsonValues(content)).to.be.lessThan(MAX_ANSWER_VALUES);
        expect(isError).to.be.a('boolean');
        for (const block of content) if (block.type === 'text') expect(block.text.isWellFormed()).to.equal(true);
      });
    });

    it('a tool list fails with a reason, or is kept in bounded size', async () => {
      const list = fc
        .record({ tools: parts, schema: json, name: fc.oneof(json, fc.constant('"a"')), change: damage })
        .map(({ tools, schema, name, change }) => ({
          'tools/list': damaged(`{"tools":[{"name":${name},"inputSchema":${schema}},${tools}]}`, change),
        }));
      await bounded(list, async () => {
        const verified = calls.mcp.verify(
          calls.row('s', server.url, { pin_tools: true }),
          new AbortController().signal,
        );
        const tools = await verified.catch((error: Error) => error);
        if (tools instanceof Error) return;
        checkTools(tools!.tools);
      });
    });
  });
}

function checkTools(tools: readonly McpTool[]): void {
  expect(tools.length).to.be.at.most(256);
  expect(countJsonValues(tools)).to.be.lessThan(MAX_LIST_VALUES + 256 * 10);
  expect(JSON.stringify(tools).length).to.be.lessThan(1024 * 1024);
  for (const { name, description, input_schema } of tools) {
    expect([...name].length).to.be.within(1, 128);
    expect([...description].length).to.be.at.most(500);
    expect(input_schema.type).to.equal('object');
    expect(countJsonValues(input_schema)).to.be.at.most(4001);
  }
}
