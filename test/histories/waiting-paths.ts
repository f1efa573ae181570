import { budget, PRICE, tokens } from '../support/money.js';
import { message, steps, text, toolUse } from '../support/scripted-model.js';
import { confirmation, customResult, customTool, requiredActions, sendAnswers } from '../support/waiting-turns.js';
import { endOf, newSession, SECRET, withServer, type Path, type Scene } from './path.js';

/** A turn that waits for a person and for the client. */
async function waitingTurn(scene: Scene): Promise<string> {
  const uses = [
    toolUse('list_files', { note: SECRET }),
    toolUse('mcp__shop__buy', { what: SECRET }, { id: 'toolu_1' }),
    toolUse('get_weather', { city: SECRET }, { id: 'toolu_2' }),
  ];
  scene.service.model.script(steps(message(uses), SECRET));
  const serverId = await withServer(scene);
  const sessionId = await newSession(scene, {
    mcp_servers: [serverId],
    tools: [
      {
        type: 'mcp_toolset',
        mcp_server_id: serverId,
        default_config: { permission_policy: { type: 'always_ask' } },
      },
      customTool('get_weather'),
    ],
  });
  await scene.service.send(sessionId, SECRET);
  await requiredActions(scene.service, sessionId, 2);
  return sessionId;
}

/** A turn whose second model call does not fit into the budget. */
async function dearTurn(scene: Scene): Promise<string> {
  scene.service.model.script(
    steps(message([toolUse('list_files', { note: SECRET })], tokens(300)), message([text(SECRET)], tokens(2))),
  );
  const sessionId = await newSession(scene, { budget: budget('0.5', 'pause') });
  await scene.service.send(sessionId, SECRET);
  await requiredActions(scene.service, sessionId);
  return sessionId;
}

export const WAITING_PATHS: Path[] = [
  {
    name: 'wait',
    async play(scene) {
      const sessionId = await waitingTurn(scene);
      await sendAnswers(scene.service, sessionId, [confirmation('toolu_1', 'allow')]);
      await requiredActions(scene.service, sessionId, 1);
      await sendAnswers(scene.service, sessionId, [customResult('toolu_2', SECRET)]);
      return endOf(scene, sessionId);
    },
  },
  {
    name: 'denial',
    async play(scene) {
      const sessionId = await waitingTurn(scene);
      const answers = [confirmation('toolu_1', 'deny', SECRET), customResult('toolu_2', SECRET, true)];
      await sendAnswers(scene.service, sessionId, answers);
      return endOf(scene, sessionId);
    },
  },
  {
    name: 'expiry',
    options: { config: { actionTimeoutSeconds: 1 } },
    play: async (scene) => endOf(scene, await waitingTurn(scene)),
  },
  {
    name: 'cancel-waiting',
    async play(scene) {
      const sessionId = await waitingTurn(scene);
      await scene.service.api('POST', `/v1/sessions/${sessionId}/cancel`);
      return endOf(scene, sessionId, 'turn.cancelled');
    },
  },
  {
    name: 'budget',
    options: { model: { price: PRICE } },
    async play(scene) {
      const sessionId = await dearTurn(scene);
      for (const amount of ['0.51', '2'])
        await scene.service.api('PATCH', `/v1/sessions/${sessionId}`, { budget: budget(amount, 'pause') });
      return endOf(scene, sessionId);
    },
  },
  {
    name: 'budget-expired',
    options: { model: { price: PRICE }, config: { actionTimeoutSeconds: 1 } },
    play: async (scene) => endOf(scene, await dearTurn(scene)),
  },
];
