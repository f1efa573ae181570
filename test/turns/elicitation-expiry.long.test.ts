import { expect } from 'chai';
import type { ElicitResult } from '@modelcontextprotocol/sdk/types.js';
import type { Question } from '../support/mcp-server.js';
import { toolUse } from '../support/scripted-model.js';
import { requiredActions, sendAnswers } from '../support/waiting-turns.js';
import { useRegisteredMcp } from '../support/use.js';

const QUESTION: Question = {
  mode: 'form',
  message: 'Which branch?',
  requestedSchema: { type: 'object', properties: { branch: { type: 'string' } } },
};
/** A question outlives the time of its turn. */
const TURN_TIMEOUT_SECONDS = 8;
const ELICITATION_TIMEOUT_SECONDS = 11;
/** And that of its call. */
const TOOL_TIMEOUT_SECONDS = 5;

/** decisions.md "Tasks and elicitation": `ELICITATION_TIMEOUT_SECONDS`, and `TURN_TIMEOUT_SECONDS` and `TOOL_TIMEOUT_SECONDS` while a server asks. */
describe('a question without an answer', () => {
  let answers: ElicitResult[];

  const { service, registered } = useRegisteredMcp(
    'ops',
    {
      tasks: true,
      tools: [
        {
          name: 'deploy',
          run: async ({ ask }) => {
            answers.push(await ask(QUESTION));
            return 'Not deployed.';
          },
        },
        {
          name: 'build',
          pollInterval: 1000,
          task: async ({ update, ask, end }) => {
            await update('input_required');
            answers.push(await ask(QUESTION));
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
      service.model.reply([toolUse(`mcp__ops__${tool}`, {}, { id: 'toolu_1' })]);
      service.model.reply('Done.');
      const sessionId = await service.session({
        mcp_servers: [registered.id],
        tools: [{ type: 'mcp_toolset', mcp_server_id: registered.id, elicitation: true }],
      });
      await service.send(sessionId, 'Go');
      const [{ elicitation_id, expires_at }] = await requiredActions(service, sessionId);
      const ended = await service.ended(sessionId);
      expect(ended).to.include({ type: 'turn.completed' });
      expect(ended.timing.waiting_ms).to.be.greaterThan(TURN_TIMEOUT_SECONDS * 1000);
      expect(answers).to.deep.equal([{ action: 'cancel' }]);
      const events = await service.history(sessionId);
      const result = events.find(({ type }) => type === 'agent.tool_result');
      expect(result).to.include({ is_error: false, content: text });
      expect(Date.parse(result.created_at)).to.be.at.least(Date.parse(expires_at));
      expect(events.some(({ type }) => type === 'user.elicitation_result')).to.equal(false);
      const late = await sendAnswers(service, sessionId, [
        { type: 'user.elicitation_result', elicitation_id, action: 'decline' },
      ]);
      expect([late.status, late.body.error.details?.state]).to.deep.equal([409, 'expired']);
    });
  }
});
