import type { ServerResponse } from 'node:http';
import { expect } from 'chai';
import { MemoryShare } from '../../../../src/platform/memory-share.js';
import { MIB } from '../../../../src/platform/units.js';
import { eventually } from '../../../support/eventually.js';
import { mcpCalls, textOf, type McpCalls } from '../../../support/mcp-calls.js';
import { resultJson, sendRaw } from '../../../support/raw-answers.js';
import { startMcpServer, type TestMcpServer } from '../../../support/mcp-server.js';

/** Room for one large answer at a time. */
const BUDGET = 100 * MIB;
const LARGE_TEXT = 'x'.repeat(3 * MIB);

for (const form of ['json', 'stream'] as const) {
  describe(`a large answer of an MCP server (${form})`, () => {
    let server: TestMcpServer;
    let calls: McpCalls;
    let memory: MemoryShare;
    /** Answers of which a large part has been sent. */
    let halves: (() => void)[];
    beforeEach(async () => {
      halves = [];
      server = await startMcpServer({ tools: [{ name: 'small' }, { name: 'large' }], gateway });
      memory = new MemoryShare(BUDGET);
      calls = mcpCalls({ hosts: [server.host], memory });
    });
    afterEach(async () => {
      await calls.close();
      await server.close();
    });

    /** Sends most of the answer of `large`, and the rest when the test opens it. */
    const gateway = (_req: unknown, res: ServerResponse, body: string): boolean => {
      if (!body.includes('"large"')) return false;
      const { id } = JSON.parse(body) as { id: number };
      const answer = JSON.stringify({ jsonrpc: '2.0', id, result: { content: [{ type: 'text', text: LARGE_TEXT }] } });
      const [start, end] = form === 'json' ? ['', ''] : ['data: ', '\n\n'];
      res.writeHead(200, { 'content-type': form === 'json' ? 'application/json' : 'text/event-stream' });
      res.write(start + answer.slice(0, 2 * MIB));
      halves.push(() => res.end(answer.slice(2 * MIB) + end));
      return true;
    };
    const call = (tool: string, overrides = {}): ReturnType<McpCalls['call']> =>
      calls.call(calls.row('s', server.url), tool, {}, overrides);

    it(`a large answer of an MCP server (${form}) waits for its share of the memory, and a small one does not`, async () => {
      let alive = 0;
      const first = call('large');
      await eventually('the share is taken', () => memory.used > 0);
      const second = call('large', { progress: () => (alive += 1) });
      await eventually('the second one waits', () => memory.waiting === 1);
      expect(textOf(await call('small'))).to.equal('ok');
      await eventually('the waiting call stays alive', () => alive > 0);
      for (const finish of halves) finish();
      for (const result of await Promise.all([first, second])) expect(textOf(result)).to.have.length(LARGE_TEXT.length);
      expect([memory.used, memory.waiting]).to.deep.equal([0, 0]);
    });

    it(`a large answer of an MCP server (${form}) gives its share back when the call is cancelled`, async () => {
      const cancel = new AbortController();
      const first = call('large', { signal: cancel.signal }).catch((error: unknown) => error);
      await eventually('the share is taken', () => memory.used > 0);
      const second = call('large', { signal: cancel.signal }).catch((error: unknown) => error);
      await eventually('the second one waits', () => memory.waiting === 1);
      cancel.abort(new Error('cancelled'));
      expect([await first, await second].map(String)).to.deep.equal(['Error: cancelled', 'Error: cancelled']);
      await eventually('nothing is held', () => memory.used === 0 && memory.waiting === 0);
    });

    it(`a large answer of an MCP server (${form}) holds at most half of the memory for one project`, async () => {
      await calls.close();
      memory = new MemoryShare(BUDGET, BUDGET / 2);
      calls = mcpCalls({ hosts: [server.host], memory });
      const callFor = (projectId: string): ReturnType<McpCalls['call']> =>
        call('large', { turn: { id: 'turn_1', sessionId: 'ses_1', projectId, skills: [] } });
      const own = [callFor('a'), callFor('a')];
      await eventually('one answer of the project waits', () => memory.waiting === 1);
      const other = callFor('b');
      await eventually('the other project has its share', () => memory.used === BUDGET);
      expect(memory.waiting).to.equal(1);
      for (const finish of halves) finish();
      for (const result of await Promise.all([...own, other])) expect(textOf(result)).to.have.length(LARGE_TEXT.length);
    });

    it(`a large answer of an MCP server (${form}) takes its share for many values, too`, async () => {
      server.options.gateway = (_req, res, body) => {
        if (!body.includes('"large"')) return false;
        const { id } = JSON.parse(body) as { id: number };
        sendRaw(res, form, resultJson(id, `{"content":[],"_meta":[${'{},'.repeat(20_000)}{}]}`));
        return true;
      };
      const gate = memory.take(BUDGET);
      const dense = call('large');
      await eventually('the dense one waits', () => memory.waiting === 1);
      (await gate)();
      expect(textOf(await dense)).to.equal('[The tool returned no content.]');
    });
  });
}
