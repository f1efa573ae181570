import { expect } from 'chai';
import { breakNext } from '../../support/broken-connection.js';
import { steps, toolUse } from '../../support/scripted-model.js';
import { useRegisteredMcp } from '../../support/use.js';

/** A commit is in doubt when the connection breaks before its answer. The attempt's own token shows whether it was committed. */
describe('the start of a tool call whose commit is in doubt', () => {
  const { mcp, service, registered } = useRegisteredMcp('shop', { tools: [{ name: 'buy', run: () => 'bought' }] });

  let broken: ReturnType<typeof breakNext>;
  afterEach(() => {
    broken.restore();
    service.model.reset();
    mcp.calls.length = 0;
  });

  for (const moment of ['before', 'after'] as const) {
    it(`the start of a tool call whose commit is in doubt sends the call once if the connection breaks ${moment} the commit`, async () => {
      service.model.on(/Buy/, steps(toolUse('mcp__shop__buy'), 'Done.'));
      const sessionId = await service.session({ mcp_servers: [registered.id] });
      broken = breakNext("SET state = 'started'", moment);
      await service.send(sessionId, 'Buy');
      expect(await service.ended(sessionId)).to.have.property('type', 'turn.completed');
      expect(broken.broken).to.equal(true);
      expect(mcp.calls).to.have.length(1);
      const result = await service.resultOf(sessionId);
      expect(result).to.include({ is_error: false, content: 'bought' });
    });
  }
});
