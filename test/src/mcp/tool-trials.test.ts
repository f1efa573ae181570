import { expect } from 'chai';
import { credentialAuth } from '../../../src/mcp/request-auth.js';
import { ToolTrials } from '../../../src/mcp/tool-trials.js';
import { createMcpNetwork } from '../../../src/network/network.js';
import { MemoryShare } from '../../../src/platform/memory-share.js';
import { MIB } from '../../../src/platform/units.js';
import { eventually } from '../../support/eventually.js';
import { startMcpServer } from '../../support/mcp-server.js';

describe('a call of a tool that a person tries', () => {
  it('a call that a person tries ends after its time limit, and the server knows it', async () => {
    const server = await startMcpServer({ tools: [{ name: 'slow', run: () => new Promise(() => undefined) }] });
    const network = createMcpNetwork([server.host]);
    const trials = new ToolTrials(network, new MemoryShare(MIB), 1);
    try {
      const { content, isError } = await trials.run({
        projectId: 'demo',
        server: { name: 'tools', url: server.url },
        begin: async () => undefined,
        toolName: 'slow',
        input: {},
        idempotencyKey: 'one',
        authorize: () => credentialAuth({ type: 'NONE', header: null, secret: null }),
        asUser: false,
        signal: new AbortController().signal,
      });
      expect(isError).to.equal(true);
      const [block] = content;
      expect(block).to.have.property('text').that.includes('did not answer within 1 seconds. Its outcome is unknown');
      await eventually('the call is cancelled', () => server.cancelled.length === 1);
    } finally {
      await network.close();
      await server.close();
    }
  });
});
