import { expect } from 'chai';
import { toolUse } from '../../support/scripted-model.js';
import { useRegisteredMcp } from '../../support/use.js';

/** One activity for each call. One that fails leaves the others alone. Results keep the order of the calls. */
describe('tools called in one step', () => {
  let together = 0;
  const arrived: (() => void)[] = [];
  const meet = ({ arguments: { n } }: { arguments: Record<string, unknown> }): Promise<string> =>
    new Promise((resolve) => {
      arrived.push(() => resolve(`met ${String(n)}`));
      together = Math.max(together, arrived.length);
      // The last one to come opens for all, in the wrong order.
      if (arrived.length === 3) for (const open of arrived.splice(0).reverse()) open();
    });
  const fail = () => Promise.reject(new Error('out of order'));
  const tools = Object.entries({ meet, fail }).map(([name, run]) => ({ name, run }));
  const { service, registered } = useRegisteredMcp('shop', { tools });

  it('tools called in one step run at once, fail alone, and give their results in order', async () => {
    const sessionId = await service.session({ mcp_servers: [registered.id], thinking_enabled: false });
    service.model.reply(
      [
        toolUse('mcp__shop__meet', { n: 0 }, { id: 'a' }),
        toolUse('mcp__shop__fail', {}, { id: 'b' }),
        toolUse('mcp__shop__meet', { n: 1 }, { id: 'c' }),
        toolUse('no_such_tool', {}, { id: 'd' }),
        toolUse('mcp__shop__meet', { n: 2 }, { id: 'e' }),
      ],
      'Done.',
    );
    await service.send(sessionId, 'Go');
    expect(await service.ended(sessionId)).to.include({ type: 'turn.completed' });
    expect(together).to.equal(3);
    const { content } = service.model.requests[1]!.body.messages.at(-1)!;
    const results = (content as { tool_use_id: string; is_error?: boolean; content: { text: string }[] }[]).map(
      ({ tool_use_id, is_error = false, content: [block] }) => [tool_use_id, is_error, block!.text],
    );
    expect(results.map(([id, failed]) => [id, failed])).to.deep.equal([
      ['a', false],
      ['b', true],
      ['c', false],
      ['d', true],
      ['e', false],
    ]);
    expect(results.filter(([, failed]) => failed === false).map(([, , said]) => said)).to.deep.equal([
      'met 0',
      'met 1',
      'met 2',
    ]);
  });
});
