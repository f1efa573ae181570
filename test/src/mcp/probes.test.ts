import { expect } from 'chai';
import { NO_CREDENTIAL } from '../../../src/mcp/auth.js';
import { Probes } from '../../../src/mcp/probes.js';
import { credentialAuth } from '../../../src/mcp/request-auth.js';
import { createMcpNetwork, type GuardedNetwork } from '../../../src/network/network.js';
import { MemoryShare } from '../../../src/platform/memory-share.js';
import { MIB } from '../../../src/platform/units.js';
import { eventually } from '../../support/eventually.js';
import { startMcpServer, type TestMcpServer } from '../../support/mcp-server.js';

describe('the probes of an API process', () => {
  let server: TestMcpServer;
  let network: GuardedNetwork;
  let memory: MemoryShare;
  let probe: (projectId: string) => Promise<unknown>;
  beforeEach(async () => {
    server = await startMcpServer({ tools: [{ name: 'a' }] });
    network = createMcpNetwork([server.host]);
    memory = new MemoryShare(64 * MIB, 32 * MIB);
    const probes = new Probes(network, memory);
    probe = (projectId) => probes.run(projectId, new URL(server.url), null, () => credentialAuth(NO_CREDENTIAL));
  });
  afterEach(async () => {
    await network.close();
    await server.close();
  });

  it('the probes of an API process are at most 8 of one project at a time; further ones wait', async () => {
    let open!: () => void;
    const gate = new Promise<void>((resolve) => (open = resolve));
    let begun = 0;
    server.options.gateway = async (_req, _res, body) => {
      if (!body.includes('"initialize"')) return false;
      begun += 1;
      await gate;
      return false;
    };
    const own = Array.from({ length: 10 }, () => probe('a'));
    await eventually('8 probes of the project run', () => begun === 8);
    const other = probe('b');
    await eventually('that of another project runs', () => begun === 9);
    open();
    await Promise.all([...own, other]);
    expect(begun).to.equal(11);
  });

  it('the probes of an API process wait for memory when a tool list is large', async () => {
    server.options.tools = [{ name: 'a', description: 'x'.repeat(2 * MIB) }];
    const releases = await Promise.all([memory.take(32 * MIB, null, 'a'), memory.take(32 * MIB, null, 'b')]);
    const waiting = probe('a');
    await eventually('the list waits', () => memory.waiting === 1);
    for (const release of releases) release();
    expect(await waiting).to.have.nested.property('tools.length', 1);
    expect([memory.used, memory.waiting]).to.deep.equal([0, 0]);
  });
});
