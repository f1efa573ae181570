import { expect } from 'chai';
import { freePort } from '../../../../src/platform/free-port.js';
import type { McpServerRow } from '../../../../src/db/entities/mcp-servers.js';
import { eventually } from '../../../support/eventually.js';
import { isOutcomeUnknown, mcpCalls, textOf, type McpCalls } from '../../../support/mcp-calls.js';
import { startPythonServer } from '../../../support/mcp-python/start.js';
import { skip } from '../../../support/skip.js';

describe('a server of the Python SDK', () => {
  let stopServer: () => Promise<void>;
  let calls: McpCalls | undefined;
  let row: McpServerRow;
  let port: number;

  const startServer = async (): Promise<void> => {
    stopServer = await startPythonServer('server.py', port);
  };

  before(async function () {
    if (process.env.MCP_PYTHON === undefined) skip(this, 'needs the Python SDK; npm run check -- mcp-python');
    port = await freePort();
    calls = mcpCalls({ hosts: [`127.0.0.1:${port}`] });
    row = calls.row('python', `http://127.0.0.1:${port}/mcp`);
    await startServer();
  });
  after(async () => {
    if (calls === undefined) return;
    await calls.close();
    await stopServer();
  });

  it('a server of the Python SDK lists its tools, also when the path redirects', async () => {
    for (const url of [row.url, `${row.url}/`]) {
      const { tools, serverName } = await calls!.probe(url);
      expect(serverName).to.equal('python-sdk');
      expect(tools.map(({ name }) => name)).to.include.members(['add', 'slow']);
      expect(tools.find(({ name }) => name === 'add')).to.deep.include({
        description: 'Adds two numbers.',
        annotations: { readOnlyHint: true },
      });
    }
  });

  it('a server of the Python SDK answers, fails and draws', async () => {
    const sum = await calls!.call(row, 'add', { a: 2, b: 3 });
    expect(textOf(sum)).to.match(/^5/);
    const failed = await calls!.call(row, 'fail', { reason: 'no reason' });
    expect([failed.isError, isOutcomeUnknown(failed)]).to.deep.equal([true, false]);
    expect(textOf(failed)).to.include('no reason');
    expect((await calls!.call(row, 'picture')).content[0]).to.include({ type: 'image', media_type: 'image/png' });
  });

  it('a server of the Python SDK reports progress and is cancelled', async () => {
    let signs = 0;
    const progress = (): number => (signs += 1);
    expect(textOf(await calls!.call(row, 'slow', { steps: 3 }, { progress }))).to.include('done');
    expect(signs).to.equal(3);
    const cancel = new AbortController();
    signs = 0;
    const call = calls!.call(row, 'slow', { steps: 100_000 }, { signal: cancel.signal, progress });
    await eventually('the tool runs', () => signs > 0);
    cancel.abort(new Error('cancelled'));
    await call.catch(() => undefined);
    await eventually('the server has cancelled it', async () => {
      return textOf(await calls!.call(row, 'cancelled_calls')).includes('slow');
    });
  });

  it('a server of the Python SDK may restart between calls', async () => {
    await stopServer();
    await startServer();
    expect(textOf(await calls!.call(row, 'add', { a: 1 }))).to.match(/^2/);
  });
});
