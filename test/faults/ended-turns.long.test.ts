import { expect } from 'chai';
import { freePort } from '../../src/platform/free-port.js';
import { eventually } from '../support/eventually.js';
import { message, toolUse } from '../support/scripted-model.js';
import { temporalAddress } from '../support/temporal.js';
import { findWorkflow } from '../support/turn-workflow.js';
import { useFaultSystem } from '../support/use.js';
import { customTool, requiredActions } from '../support/waiting-turns.js';

/** The reconciler looks for such workflows every 10 s. */
const NOTICED_MS = 60_000;

/** docs/operations/turns.md: a workflow does not outlive its turn. */
describe('the workflow of a turn that has ended', () => {
  const system = useFaultSystem({ proxies: true });

  it('the workflow of a turn that was cancelled while it waited and Temporal was away ends when Temporal is back', async () => {
    const { temporal } = system.proxies!;
    system.model.script(() => message([toolUse('get_weather', { city: 'Rome' })]));
    const sessionId = await system.session({ tools: [customTool('get_weather')] });
    const { turnId } = await system.send(sessionId, 'Ask me');
    await requiredActions({ api: (method, path) => system.insist(method, path) }, sessionId);

    temporal.retarget({ host: '127.0.0.1', port: await freePort() });
    temporal.cut();
    await system.insist('POST', `/v1/sessions/${sessionId}/cancel`);
    await eventually('the turn has ended', async () => {
      const { body } = await system.insist('GET', `/v1/sessions/${sessionId}`);
      return body.status === 'CANCELLED';
    });
    await eventually('neither the request nor the reconciler has reached Temporal', () => {
      const logs = [...system.apis, ...system.workers].map((each) => each.log()).join('');
      return logs.match(/a cancel request did not reach Temporal/g)?.length === 2;
    });
    const [host, port] = (await temporalAddress()).split(':');
    temporal.retarget({ host: host!, port: Number(port) });
    const status = async (): Promise<string | undefined> => (await findWorkflow(system.client, turnId))?.status.name;
    expect(await status()).to.equal('RUNNING');

    await system.db.query(`UPDATE turns SET ended_at = ended_at - interval '4 minutes' WHERE id = $1`, [turnId]);
    await eventually('its workflow has ended', async () => (await status()) === 'TERMINATED', NOTICED_MS);
    const { body } = await system.insist('GET', `/v1/sessions/${sessionId}`);
    expect(body.status).to.equal('CANCELLED');
  });
});
