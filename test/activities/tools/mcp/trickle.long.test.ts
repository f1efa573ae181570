import type { ServerResponse } from 'node:http';
import { expect } from 'chai';
import { MemoryShare } from '../../../../src/platform/memory-share.js';
import { MIB } from '../../../../src/platform/units.js';
import { eventually } from '../../../support/eventually.js';
import { isOutcomeUnknown, mcpCalls, textOf } from '../../../support/mcp-calls.js';
import { startMcpServer } from '../../../support/mcp-server.js';

describe('a large answer of an MCP server that trickles', () => {
  for (const [form, type] of [
    ['json', 'application/json'],
    ['stream', 'text/event-stream'],
  ] as const) {
    it(`a large answer of an MCP server that trickles is cut off (${form})`, async () => {
      const gateway = (_req: unknown, res: ServerResponse, body: string): boolean => {
        if (!body.includes('"large"')) return false;
        const { id } = JSON.parse(body) as { id: number };
        const start = `{"jsonrpc":"2.0","id":${id},"result":{"content":[{"type":"text","text":"`;
        res.writeHead(200, { 'content-type': type });
        res.write(`${form === 'json' ? '' : 'data: '}${start}${'x'.repeat(2 * MIB)}`);
        return true;
      };
      const server = await startMcpServer({ tools: [{ name: 'large' }], gateway });
      const memory = new MemoryShare(100 * MIB);
      const calls = mcpCalls({ hosts: [server.host], memory });
      const result = await calls.call(calls.row('s', server.url), 'large');
      expect(textOf(result)).to.include('its answer arrives at less than 64 KiB a second');
      expect([result.isError, isOutcomeUnknown(result)]).to.deep.equal([true, true]);
      await eventually('nothing is held', () => memory.used === 0);
      await calls.close();
      await server.close();
    });
  }
});
