import { eventually } from '../support/eventually.js';
import { tokenGateway } from '../support/mcp-server.js';
import { steps, toolUse } from '../support/scripted-model.js';
import { confirmation, requiredActions, sendAnswers } from '../support/waiting-turns.js';
import { endOf, newSession, SECRET, type Path, type Scene } from './path.js';

/** Starts a turn that calls a server for which its user has no credential, beside a tool that needs none. Resolves when the call waits. */
async function waitFor(scene: Scene, known: Set<string>): Promise<{ sessionId: string; serverId: string }> {
  const { service, mcp } = scene;
  mcp.options.gateway = tokenGateway((token) => known.has(token));
  const auth = { type: 'BEARER', token: `own-${SECRET}` };
  const body = { name: 'shop', url: mcp.url, auth, credentials: 'user' };
  const serverId = (await service.api('POST', '/v1/mcp-servers', body)).body.id as string;
  const uses = [toolUse('mcp__shop__buy', { what: SECRET }, { id: 'toolu_1' }), toolUse('list_files')];
  service.model.script(steps(uses, SECRET));
  const sessionId = await newSession(scene, { user: 'jane', mcp_servers: [serverId] });
  await service.send(sessionId, SECRET);
  await requiredActions(service, sessionId);
  return { sessionId, serverId };
}

const own = (): Set<string> => new Set([`own-${SECRET}`]);

async function connect({ service }: Scene, serverId: string, token: string): Promise<void> {
  const body = { mcp_server_id: serverId, user: 'jane', auth: { type: 'BEARER', token } };
  await service.api('POST', '/v1/credentials', body);
}

/** Turns with calls that wait until the session's user has authorized a server. */
export const AUTHORIZATION_PATHS: Path[] = [
  {
    name: 'authorization',
    async play(scene) {
      const known = own().add(SECRET);
      const { sessionId, serverId } = await waitFor(scene, known);
      await connect(scene, serverId, SECRET);
      return endOf(scene, sessionId);
    },
  },
  {
    name: 'authorization-refused',
    async play(scene) {
      const known = own();
      const { sessionId, serverId } = await waitFor(scene, known);
      await connect(scene, serverId, `wrong-${SECRET}`);
      await eventually('the call waits again', async () => {
        const asked = (await scene.service.history(sessionId)).filter(({ type }) => type === 'agent.requires_action');
        return asked.length === 2;
      });
      known.add(SECRET);
      await connect(scene, serverId, SECRET);
      return endOf(scene, sessionId);
    },
  },
  {
    name: 'authorization-denied',
    async play(scene) {
      const { sessionId } = await waitFor(scene, own());
      await sendAnswers(scene.service, sessionId, [confirmation('toolu_1', 'deny', SECRET)]);
      return endOf(scene, sessionId);
    },
  },
  {
    name: 'authorization-expired',
    options: { config: { actionTimeoutSeconds: 2 } },
    play: async (scene) => endOf(scene, (await waitFor(scene, own())).sessionId),
  },
  {
    name: 'authorization-cancelled',
    async play(scene) {
      const { sessionId } = await waitFor(scene, own());
      await scene.service.api('POST', `/v1/sessions/${sessionId}/cancel`);
      return endOf(scene, sessionId, 'turn.cancelled');
    },
  },
];
