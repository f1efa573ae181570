import { expect } from 'chai';
import type { Db } from '../../../src/db/db.js';
import type { McpTool } from '../../../src/db/entities/mcp-servers.js';
import { loadToolset } from '../../../src/mcp/toolsets.js';

/** A toolset of 60,000 values in 180 KB of JSON: 6 MB in memory. */
const DENSE = JSON.stringify(
  Array.from({ length: 60 }, (_, n): McpTool => ({
    name: `tool-${n}`,
    description: '',
    input_schema: { type: 'object', enum: Array(990).fill({}) },
  })),
);

describe('the cache of toolsets', () => {
  it('the cache of toolsets counts the memory of parsed values, not the length of their JSON', async () => {
    const read: string[] = [];
    const db = {
      query: async (_: string, [, hash]: string[]) => {
        read.push(hash!);
        return [{ tools: DENSE }];
      },
    } as unknown as Db;
    for (let version = 0; version < 16; version += 1) await loadToolset(db, 'mcp_dense', `hash-${version}`);
    await loadToolset(db, 'mcp_dense', 'hash-15');
    expect(read, 'the latest one is kept').to.have.length(16);
    await loadToolset(db, 'mcp_dense', 'hash-0');
    expect(read.at(-1), 'the oldest one is gone').to.equal('hash-0');
    expect(read).to.have.length(17);
  });
});
