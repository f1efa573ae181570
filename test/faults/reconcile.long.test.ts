import { expect } from 'chai';
import { Notifier } from '../../src/stream/notify.js';
import { createLogger } from '../../src/platform/logger.js';
import { requestCancel } from '../../src/turns/request-cancel.js';
import { acceptMessage } from '../support/accept-message.js';
import type { FaultSystem, Turn } from '../support/fault-system.js';
import { steps, text, toolUse, wait } from '../support/scripted-model.js';
import { CLOSING, startClosing, startTimingOut } from '../support/workflow-tasks.js';
import { useFaultSystem } from '../support/use.js';

/** The promise, with room for a machine that is busy. */
const PROMISED_MS = 10_000;
const SLACK_MS = 5_000;

/** What the reconciler counted, over all processes. */
async function reconciled({ apis, workers }: FaultSystem): Promise<Record<string, number>> {
  const counts: Record<string, number> = {};
  for (const { url } of [...apis, ...workers]) {
    for (const [, action, n] of (await (await fetch(`${url}/metrics`)).text()).matchAll(
      /^\w*reconcile_actions\w*\{action="(\w+)"\} (\d+)/gm,
    )) {
      counts[action!] = (counts[action!] ?? 0) + Number(n);
    }
  }
  return counts;
}

/** Two API processes and a worker: one of them leads. What happens to a turn happens once. */
describe('the reconciler', () => {
  const system = useFaultSystem({ apis: 2, ownTemporal: { persistent: false } });

  /** A turn accepted by a process that died before it started the workflow. */
  const accept = async (content = 'Hello'): Promise<Turn> => {
    const sessionId = await system.session();
    const [{ project_id }] = await system.db.query<[{ project_id: string }]>(
      'SELECT project_id FROM sessions WHERE id = $1',
      [sessionId],
    );
    const message = { content, files: [], skills: [] };
    const { id } = await acceptMessage(system.db, project_id, sessionId, message, system.client.options.namespace);
    return { sessionId, turnId: id };
  };

  /** A turn that waits for its model. */
  const running = async (): Promise<Turn> => {
    const gate = system.model.gate();
    const sessionId = await system.session();
    system.model.on(new RegExp(sessionId), text('too late', { before: { 0: wait(gate) } }));
    const turn = await system.send(sessionId, sessionId);
    await gate.reached;
    return turn;
  };

  const measured = async (title: string, turn: Turn, type: string, error?: string, limitMs = PROMISED_MS) => {
    const began = performance.now();
    const end = await system.ended(turn);
    const took = performance.now() - began;
    console.log(`      ${title}: ${end.type} after ${(took / 1000).toFixed(1)} s`);
    expect(end.type, title).to.equal(type);
    expect(end.error?.type, title).to.equal(error);
    expect(took, title).to.be.below(limitMs + SLACK_MS);
  };

  it('the reconciler starts or ends each open turn within 10 s, once', async () => {
    const { client } = system;
    const [terminated, cancelled] = [await running(), await running()];
    const accepted = [await accept(), await accept(), await accept(), await accept(), await accept()] as const;
    const [failed, completed, ended, timedOut, neverStarted] = accepted;
    const before = await reconciled(system);
    const log = createLogger('silent', 'test');
    const deps = { db: system.db, notifier: new Notifier(system.db, log), log };
    await Promise.all([
      startClosing(client, failed.turnId, CLOSING.failed),
      startClosing(client, completed.turnId, CLOSING.completed),
      startClosing(client, ended.turnId, CLOSING.cancelled),
      startTimingOut(client, timedOut.turnId),
      client.workflow.getHandle(terminated.turnId).terminate(),
      requestCancel(deps, cancelled.turnId),
    ]);
    await Promise.all([
      measured('terminated', terminated, 'turn.failed', 'terminated'),
      measured('failed', failed, 'turn.failed', 'internal_error'),
      measured('completed with its turn open', completed, 'turn.completed'),
      measured('cancelled', ended, 'turn.cancelled'),
      measured('timed out', timedOut, 'turn.failed', 'turn_timeout'),
      measured('never started', neverStarted, 'turn.completed'),
      measured('cancel request that never arrived', cancelled, 'turn.cancelled'),
    ]);
    const after = await reconciled(system);
    const grown = Object.keys(after).map((action) => [action, after[action]! - (before[action] ?? 0)]);
    expect(Object.fromEntries(grown)).to.include({ ended: 4, started: 2, cancelled: 1 });
    await system.verify();
  });

  it('the reconciler restarts turns after Temporal has lost its data', async () => {
    const gate = system.model.gate();
    const deliver = toolUse('deliver_file', { filename: 'a.txt', content: 'A' });
    const before = steps(deliver, text('cut off', { before: { 0: wait(gate) } }));
    const after = steps(deliver, 'Here again.');
    let calls = 0;
    system.model.on(/forgotten/, (request, index) => {
      calls += 1;
      return (calls <= 2 ? before : after)(request, index);
    });
    const turn = await system.begin('forgotten');
    await gate.reached;
    await system.temporal!.kill();
    await system.temporal!.restart();
    await measured('vanished', turn, 'turn.completed');
    await system.verify();
  });

  it('the reconciler ends a cancelled turn within 20 s without any worker', async () => {
    const turn = await running();
    void system.watch(turn);
    await Promise.all(system.workers.map((worker) => worker.kill()));
    const answer = await system.insist('POST', `/v1/sessions/${turn.sessionId}/cancel`);
    expect(answer.body.status).to.equal('RUNNING');
    await measured('cancelled without a worker', turn, 'turn.cancelled', undefined, 20_000);
    await system.verify();
  });
});
