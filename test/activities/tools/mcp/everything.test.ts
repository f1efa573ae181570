import { expect } from 'chai';
import { startEverythingServer } from '../../../support/everything-server.js';
import { isOutcomeUnknown, mcpCalls, textOf, type McpCalls } from '../../../support/mcp-calls.js';
import type { McpServerRow } from '../../../../src/db/entities/mcp-servers.js';

describe('server-everything', () => {
  let server: Awaited<ReturnType<typeof startEverythingServer>>;
  let calls: McpCalls;
  let row: McpServerRow;
  before(async () => {
    server = await startEverythingServer();
    calls = mcpCalls({ hosts: [server.host] });
    row = calls.row('everything', server.url);
  });
  after(async () => {
    await calls.close();
    await server.stop();
  });

  it('server-everything lists its tools', async () => {
    const { tools, serverName } = await calls.probe(server.url);
    expect(serverName).to.match(/everything/);
    expect(tools.map(({ name }) => name)).to.include.members([
      'echo',
      'get-sum',
      'get-tiny-image',
      'get-resource-links',
    ]);
    const sum = tools.find(({ name }) => name === 'get-sum')!;
    expect(sum.input_schema).to.deep.include({ type: 'object', required: ['a', 'b'] });
    expect(sum.description).not.to.equal('');
  });

  it('server-everything answers with text, images, links, resources and structured content', async () => {
    expect(textOf(await calls.call(row, 'echo', { message: 'hello' }))).to.equal('Echo: hello');
    expect(textOf(await calls.call(row, 'get-sum', { a: 2, b: 3 }))).to.include('5');
    expect((await calls.call(row, 'get-tiny-image')).content.map(({ type }) => type)).to.include('image');
    expect(textOf(await calls.call(row, 'get-resource-links', { count: 2 }))).to.match(/\[link to a resource /);
    const reference = await calls.call(row, 'get-resource-reference', { resourceType: 'Text', resourceId: 1 });
    expect(textOf(reference)).to.match(/\[resource \S+ \(text\/plain\)\]\n/);
    const structured = await calls.call(row, 'get-structured-content', { location: 'New York' });
    expect(textOf(structured)).to.match(/"temperature":/);
    expect(structured.content, 'not included twice').to.have.length(1);
  });

  it('server-everything names the invalid input', async () => {
    const result = await calls.call(row, 'get-sum', { a: 'two' });
    expect([result.isError, isOutcomeUnknown(result)]).to.deep.equal([true, false]);
    expect(textOf(result)).to.match(/invalid/i);
  });

  it('server-everything reports progress', async () => {
    let signs = 0;
    const input = { duration: 0.4, steps: 4 };
    const result = await calls.call(row, 'trigger-long-running-operation', input, { progress: () => (signs += 1) });
    expect(textOf(result)).to.match(/completed/i);
    expect(signs).to.be.greaterThan(0);
  });

  it('server-everything is cancelled in the middle', async () => {
    const cancel = new AbortController();
    const input = { duration: 20, steps: 100 };
    let begins!: () => void;
    const begun = new Promise<void>((resolve) => (begins = resolve));
    const call = calls.call(row, 'trigger-long-running-operation', input, { signal: cancel.signal, progress: begins });
    await begun;
    cancel.abort(new Error('cancelled'));
    const asked = Date.now();
    await call.catch(() => undefined);
    expect(Date.now() - asked).to.be.lessThan(5000);
    expect(textOf(await calls.call(row, 'echo', { message: 'still here' }))).to.equal('Echo: still here');
  });
});
