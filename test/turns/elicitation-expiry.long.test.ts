import { expect } from 'chai';
import type { ElicitResult } from '@modelcontextprotocol/sdk/types.js';
import { BRANCH_FORM, useOps } from '../support/ops-server.js';
import { requiredActions } from '../support/waiting-turns.js';

/** A question outlives the time of its turn. */
const TURN_TIMEOUT_SECONDS = 8;
const ELICITATION_TIMEOUT_SECONDS = 11;
/** And that of its call. */
const TOOL_TIMEOUT_SECONDS = 5;

/** decisions.md "Tasks and elicitation": `ELICITATION_TIMEOUT_SECONDS`, and `TURN_TIMEOUT_SECONDS` and `TOOL_TIMEOUT_SECONDS` while a server asks. */
describe('a question without an answer', () => {
  let answers: ElicitResult[];

  const { service, start, result, expectClosed } = useOps(
    {
      tasks: true,
      tools: [
        {
          name: 'deploy',
          run: async ({ ask }) => {
            answers.push(await ask(BRANCH_FORM));
            return 'Not deployed.';
          },
        },
        {
          name: 'build',
          pollInterval: 1000,
          task: async ({ update, ask, end }) => {
            await update('input_required');
            answers.push(await ask(BRANCH_FORM));
            await update('working');
            await end('completed', 'Not built.');
          },
        },
      ],
    },
    {
      config: {
        turnTimeoutSeconds: TURN_TIMEOUT_SECONDS,
        toolTimeoutSeconds: TOOL_TIMEOUT_SECONDS,
        elicitationTimeoutSeconds: ELICITATION_TIMEOUT_SECONDS,
      },
    },
  );
  beforeEach(() => {
    answers = [];
  });

  const kinds = [
    ['in a direct call', 'deploy', 'Not deployed.'],
    ['within a task', 'build', 'Not built.'],
  ] as const;
  for (const [where, tool, text] of kinds) {
    it(`${where}: the server gets cancel, and the turn goes on`, async () => {
      const { sessionId } = await start(tool);
      const [{ elicitation_id, expires_at }] = await requiredActions(service, sessionId);
      const stored = await result(sessionId);
      expect(stored).to.include({ is_error: false, content: text });
      expect(Date.parse(stored.created_at)).to.be.at.least(Date.parse(expires_at));
      expect(answers).to.deep.equal([{ action: 'cancel' }]);
      const events = await service.history(sessionId);
      expect(events.at(-1).timing.waiting_ms).to.be.greaterThan(TURN_TIMEOUT_SECONDS * 1000);
      expect(events.some(({ type }) => type === 'user.elicitation_result')).to.equal(false);
      await expectClosed(sessionId, elicitation_id, 'expired');
    });
  }
});
