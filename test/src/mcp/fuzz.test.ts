import { monitorEventLoopDelay } from 'node:perf_hooks';
import { expect } from 'chai';
import fc from 'fast-check';
import type { McpTool } from '../../../src/db/entities/mcp-servers.js';
import { countJsonValues } from '../../../src/platform/value-count.js';
import { MAX_ANSWER_BYTES, MAX_ANSWER_VALUES, MAX_LIST_VALUES } from '../../../src/mcp/wire/answer-limits.js';
import { mcpCalls, type McpCalls } from '../../support/mcp-calls.js';
import { resultJson, startRawServer, type Form } from '../../support/raw-answers.js';
import type { TestMcpServer } from '../../support/mcp-server.js';

/** Generous: the machine of a test is busy, and garbage is collected. Without limits these answers block for seconds. */
const MAX_BLOCK_MS = 3000;
const RUNS = 30;

/** JSON of many values, of great depth, of great length, and with repeated keys; together with each other. */
const json: fc.Arbitrary<string> = fc.letrec<{ any: string }>((tie) => ({
  any: fc.oneof(
    { maxDepth: 3 },
    { weight: 2, arbitrary: fc.json({ maxDepth: 4 }) },
    fc
      .tuple(fc.constantFrom('{}', '[]', '1', '""', '{"a":1}', '[[[]]]'), fc.integer({ min: 1, max: 300_000 }))
      .map(([one, count]) => `[${Array(count).fill(one).join(',')}]`),
    fc.integer({ min: 1, max: 100_000 }).map((depth) => '['.repeat(depth) + ']'.repeat(depth)),
    fc.integer({ min: 1, max: 100_000 }).map((depth) => '{"a":'.repeat(depth) + '1' + '}'.repeat(depth)),
    fc
      .tuple(
        fc.constantFrom('x', '\\n', '\\u0000', '漢', '\\ud800', '[', '\\"'),
        fc.integer({ min: 1, max: 2_000_000 }),
      )
      .map(([unit, count]) => `"${unit.repeat(count)}"`),
    fc
      .tuple(fc.boolean(), fc.integer({ min: 1, max: 100_000 }))
      .map(([same, count]) => `{${Array.from({ length: count }, (_, n) => `"k${same ? 0 : n}":{}`).join(',')}}`),
    fc
      .tuple(fc.constantFrom('text', 'image', 'resource', 'data', 'inputSchema', 'name', 'anyOf', '$ref'), tie('any'))
      .map(([key, value]) => `{"type":"text","${key}":${value}}`),
    fc.array(tie('any'), { maxLength: 3 }).map((items) => `[${items.join(',')}]`),
  ),
})).any;

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
    before(async () => {
      server = await startRawServer(form, (method, id) => {
        const result = answers[method];
        return result === undefined ? undefined : resultJson(id, result).slice(0, MAX_ANSWER_BYTES);
      });
    });
    after(() => server.close());

    /** Runs the work on each answer; the longest time in which nothing else could run is bounded. */
    const bounded = async (
      arbitrary: fc.Arbitrary<Record<string, string>>,
      work: () => Promise<void>,
    ): Promise<void> => {
      await fc.assert(
        fc.asyncProperty(arbitrary, async (next) => {
          answers = next;
          // Connections of their own: what a project's servers send unasked is limited over all of them.
          calls = mcpCalls({ hosts: [server.host] });
          const delay = monitorEventLoopDelay({ resolution: 10 });
          delay.enable();
          await work();
          delay.disable();
          await calls.close();
          expect(delay.max / 1e6, 'ms of the longest block').to.be.lessThan(MAX_BLOCK_MS);
        }),
        { numRuns: RUNS, endOnFailure: true },
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
        checkTools(tools!);
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
