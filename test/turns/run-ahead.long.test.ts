import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect } from 'chai';
import pg from 'pg';
import type { Client, WorkflowHandle } from '@temporalio/client';
import { beginModelCall } from '../../src/steps/model-call.js';
import { Notifier } from '../../src/stream/notify.js';
import { channelOfWorker } from '../../src/turns/ahead-hints.js';
import type { QueuedTurn } from '../../src/turns/open.js';
import { queueTurn } from '../../src/turns/queue.js';
import { TURN_WORKFLOW, type TurnInput } from '../../workflows/contract.js';
import { breakNext } from '../support/broken-connection.js';
import { TEST_MODEL } from '../support/config.js';
import { eventually } from '../support/eventually.js';
import {
  failure,
  startScriptedModel,
  text,
  toolUse,
  wait,
  type Gate,
  type ScriptedModel,
} from '../support/scripted-model.js';
import { testLogger } from '../support/log.js';
import { temporalAddress } from '../support/temporal.js';
import { startTurnService, type TurnService } from '../support/turns.js';
import { connectClient } from '../support/workflow-history.js';
import { workflowCompleted } from '../support/turn-workflow.js';

interface Call {
  worker_id: string;
  joined_by: string | null;
  has_token: boolean;
  is_open: boolean;
}

const OWN = 'it counts slots, stops workers or has several';

describe('the first step of a turn', () => {
  let client: Client;
  let closeClient: () => Promise<void>;
  before(async () => ({ client, close: closeClient } = await connectClient(await temporalAddress())));
  after(() => closeClient());

  const callsOf = ({ db }: TurnService, turnId: string): Promise<Call[]> =>
    db.query(
      `SELECT worker_id, joined_by, task_token IS NOT NULL AS has_token, ended_at IS NULL AS is_open
       FROM model_attempts WHERE turn_id = $1 ORDER BY position, attempt`,
      [turnId],
    );
  /** The first call of the turn, once an activity has joined it or made it. */
  const joined = async (service: TurnService, turnId: string): Promise<Call> => {
    await eventually('an activity has the call', async () => (await callsOf(service, turnId))[0]?.has_token === true);
    return (await callsOf(service, turnId))[0]!;
  };
  const hold = (service: TurnService): Gate => {
    const gate = service.model.gate();
    service.model.script(() => text('one two', { every: 0, before: { 1: wait(gate) } }));
    return gate;
  };
  const started = async (service: TurnService): Promise<{ sessionId: string; turnId: string; gate: Gate }> => {
    const gate = hold(service);
    const sessionId = await service.session({ thinking_enabled: false });
    return { sessionId, turnId: await service.send(sessionId, 'Go'), gate };
  };
  /** Listens on a channel; `next` is the first notification. */
  const listen = async ({ config }: TurnService, channel: string): Promise<{ next: Promise<unknown> }> => {
    const listener = new pg.Client({ connectionString: config.databaseUrl });
    await listener.connect();
    await listener.query(`LISTEN ${channel}`);
    const next = (once(listener, 'notification') as Promise<[pg.Notification]>).then(async ([{ payload }]) => {
      await listener.end();
      return JSON.parse(payload!) as unknown;
    });
    return { next };
  };
  const typesOf = async (service: TurnService, sessionId: string): Promise<string[]> =>
    (await service.history(sessionId)).map(({ type }) => type as string);
  const request = (turnId: string) => ({
    namespace: 'default',
    execution: { workflowId: turnId },
    identity: 'test',
    type: 'callModel',
  });
  const TOLD = ['user.message', 'agent.message', 'turn.completed'];
  /** A turn that a process has accepted, and then ended without a word to Temporal. */
  const queued = async (service: TurnService, content: string): Promise<{ sessionId: string; turn: QueuedTurn }> => {
    const sessionId = await service.session({ thinking_enabled: false });
    const [{ project_id: projectId }] = await service.db.query<[{ project_id: string }]>(
      'SELECT project_id FROM sessions WHERE id = $1',
      [sessionId],
    );
    const message = { content, files: [], skills: [] };
    return { sessionId, turn: await queueTurn(service.db, projectId, sessionId, message, 'default') };
  };
  /** The same, after its first worker has begun the first step. */
  const orphan = async (service: TurnService, content: string): Promise<{ sessionId: string; turnId: string }> => {
    const { sessionId, turn } = await queued(service, content);
    expect(service.workers[0]!.ahead.begin(turn)).to.be.a('promise');
    return { sessionId, turnId: turn.id };
  };
  const startWorkflow = (service: TurnService, turnId: string, startDelay?: '1 s'): Promise<WorkflowHandle> => {
    const input: TurnInput = { id: turnId, modelId: 'scripted', mcpServers: 0, maxSteps: 9, remainingMs: 60_000 };
    const { taskQueue } = service.config;
    return client.workflow.start(TURN_WORKFLOW, { workflowId: turnId, taskQueue, args: [input], startDelay });
  };

  for (const place of ['here', 'elsewhere'] as const) {
    describe(`whose activity joins it ${place}`, () => {
      let service: TurnService;
      before(async () => (service = await startTurnService({ workers: place === 'here' ? 1 : 2, own: OWN })));
      after(() => service.close());
      beforeEach(() => service.model.reset());

      /** A turn whose first call runs ahead and waits for its model, with the activity that waits for it. */
      const held = async (): Promise<{ sessionId: string; turnId: string; gate: Gate }> => {
        for (let n = 0; n < 30; n += 1) {
          const turn = await started(service);
          const { worker_id, joined_by } = await joined(service, turn.turnId);
          if (joined_by !== null && (worker_id === joined_by) === (place === 'here')) return turn;
          turn.gate.open();
          await service.ended(turn.sessionId);
          service.model.reset();
        }
        throw new Error('no turn was joined there');
      };

      it('is one call, and the turn goes on from it', async () => {
        const { sessionId, turnId, gate } = await held();
        gate.open();
        expect((await service.ended(sessionId)).type).to.equal('turn.completed');
        expect(await typesOf(service, sessionId)).to.deep.equal(TOLD);
        expect(service.model.requests).to.have.length(1);
        const summary = await client.workflow.getHandle(turnId).result();
        expect(summary).to.include({ state: 'completed', steps: 1 });
      });

      it('goes on to tools, which the workflow starts', async () => {
        service.model.script(({ step }) => (step === 0 ? toolUse('list_files') : 'Done.'));
        const sessionId = await service.session({ thinking_enabled: false });
        await service.run(sessionId, 'Go');
        expect(await typesOf(service, sessionId)).to.deep.equal([
          'user.message',
          'agent.tool_use',
          'agent.tool_result',
          'agent.message',
          'turn.completed',
        ]);
        expect(service.model.requests).to.have.length(2);
      });

      it('fails as it would in the activity, and is tried again', async () => {
        service.model.script((_, index) => (index === 0 ? failure('overloaded_error') : 'Done.'));
        const sessionId = await service.session({ thinking_enabled: false });
        await service.run(sessionId, 'Go');
        expect(service.model.requests).to.have.length(2);
        expect(await typesOf(service, sessionId)).to.deep.equal(TOLD);
      });

      it('fails once if it cannot be tried again', async () => {
        service.model.script(() => failure('invalid_request_error'));
        const sessionId = await service.session({ thinking_enabled: false });
        const events = await service.run(sessionId, 'Go');
        expect(events.at(-1)).to.deep.include({ type: 'turn.failed' });
        expect(events.at(-1).reason ?? events.at(-1).error?.type).to.equal('model_error');
        expect(service.model.requests).to.have.length(1);
      });

      it('ends with a cancel', async () => {
        const { sessionId } = await held();
        await service.api('POST', `/v1/sessions/${sessionId}/cancel`);
        expect((await service.ended(sessionId)).type).to.equal('turn.cancelled');
        await service.model.requests.at(-1)!.aborted;
      });

      it('ends with a cancel in Temporal', async () => {
        const { sessionId, turnId } = await held();
        await client.workflow.getHandle(turnId).cancel();
        const end = await service.ended(sessionId);
        expect(end.type).to.equal('turn.cancelled');
        expect(end.usage.input_tokens, 'what the call used').to.be.above(0);
        await eventually('the call has ended', async () => !(await callsOf(service, turnId))[0]!.is_open);
      });

      it('ends with its workflow', async () => {
        const { sessionId, turnId } = await held();
        await client.workflow.getHandle(turnId).terminate('a test');
        expect(await service.ended(sessionId)).to.include({ type: 'turn.failed' });
      });

      it('is broken off by a pause, and made again', async () => {
        const { sessionId, turnId } = await held();
        await client.workflowService.pauseActivity(request(turnId));
        await eventually('the call has ended', async () => !(await callsOf(service, turnId))[0]!.is_open);
        service.model.script(() => 'one two');
        await client.workflowService.unpauseActivity(request(turnId));
        expect((await service.ended(sessionId)).type).to.equal('turn.completed');
        expect(await typesOf(service, sessionId)).to.deep.equal(TOLD);
        expect(service.model.requests).to.have.length(2);
      });

      it('is broken off by a reset, and made again', async () => {
        const { sessionId, turnId, gate } = await held();
        await client.workflowService.resetActivity(request(turnId));
        service.model.script(() => 'one two');
        gate.open();
        expect((await service.ended(sessionId)).type).to.equal('turn.completed');
        expect(await typesOf(service, sessionId)).to.deep.equal(TOLD);
      });
    });
  }

  describe('before its workflow exists', () => {
    let service: TurnService;
    before(async () => (service = await startTurnService({ own: OWN })));
    after(() => service.close());
    beforeEach(() => service.model.reset());

    it('ends the turn, which gets its workflow all the same', async () => {
      service.model.script(() => 'Done.');
      const { sessionId, turnId } = await orphan(service, 'Go');
      expect((await service.ended(sessionId)).type).to.equal('turn.completed');
      await workflowCompleted(client, turnId);
      expect(service.model.requests).to.have.length(1);
    });

    it('is cancelled', async () => {
      const gate = hold(service);
      const { sessionId, turnId } = await orphan(service, 'Go');
      await gate.reached;
      await service.api('POST', `/v1/sessions/${sessionId}/cancel`);
      expect((await service.ended(sessionId)).type).to.equal('turn.cancelled');
      await (await startWorkflow(service, turnId)).result();
    });

    it('counts what it has used when the workflow is cancelled before its first task', async () => {
      const gate = service.model.gate();
      const words = text(`${'x'.repeat(400)} two`, { every: 0, before: { 1: wait(gate) } });
      service.model.script(() => words);
      const { sessionId, turnId } = await orphan(service, 'Go');
      await gate.reached;
      const workflow = await startWorkflow(service, turnId, '1 s');
      await workflow.cancel();
      const end = await service.ended(sessionId);
      expect(end.type).to.equal('turn.cancelled');
      expect(end.usage.output_tokens).to.be.at.least(100);
    });

    it('is left to Temporal while Temporal has not asked for the step of an earlier turn', async () => {
      service.model.script(() => 'Done.');
      const turns: string[] = [];
      await eventually('a step does not run ahead', async () => {
        const { turn } = await queued(service, 'Go');
        turns.push(turn.id);
        const step = service.workers[0]!.ahead.begin(turn);
        await step;
        return step === null;
      });
      expect(service.model.requests).to.have.length(turns.length - 1);
      for (const turnId of turns) await (await startWorkflow(service, turnId)).result();
      expect(service.model.requests).to.have.length(turns.length);
    });

    it('is recorded as that of its activity, which has waited for its beginning', async () => {
      const gate = hold(service);
      const { sessionId, turn } = await queued(service, 'Go');
      const lock = service.db.createQueryRunner();
      await lock.startTransaction();
      await lock.query('SELECT FROM turns WHERE id = $1 FOR UPDATE', [turn.id]);
      void service.workers[0]!.ahead.begin(turn);
      const workflow = await startWorkflow(service, turn.id);
      await eventually('its activity waits', async () => {
        const [activity] = (await workflow.describe()).raw.pendingActivities ?? [];
        return Boolean(activity?.lastWorkerIdentity);
      });
      // Longer than an activity waits before it records itself.
      await sleep(400);
      await lock.commitTransaction();
      await lock.release();
      const call = await joined(service, turn.id);
      expect(call).to.include({ joined_by: call.worker_id, is_open: true });
      gate.open();
      expect((await service.ended(sessionId)).type).to.equal('turn.completed');
    });

    it('is left to Temporal when a worker ends', async () => {
      const gate = hold(service);
      const { sessionId, turnId } = await orphan(service, 'Go');
      await gate.reached;
      const [worker] = service.workers;
      const another = await service.startWorker();
      await worker!.close();
      service.model.script(() => 'one two');
      expect((await service.ended(sessionId)).type).to.equal('turn.completed');
      expect(await callsOf(service, turnId)).to.have.length(2);
      await another.close();
    });
  });

  describe('whose record is in doubt', () => {
    let service: TurnService;
    let worker: string;
    before(async () => {
      service = await startTurnService({ own: OWN });
      [{ id: worker }] = await service.db.query<[{ id: string }]>('SELECT id FROM workers');
    });
    after(() => service.close());
    beforeEach(() => service.model.reset());

    it('is closed by its worker', async () => {
      const broken = breakNext('INSERT INTO model_attempts', 'after');
      const { turnId } = await orphan(service, 'Go');
      await eventually('the call was recorded', () => broken.broken);
      broken.restore();
      await eventually(
        'its record is closed',
        async () => (await callsOf(service, turnId))[0]?.is_open === false,
        3000,
      );
    });

    it('does not hold up the activity', async () => {
      service.model.script(() => 'one two');
      const { sessionId, turn } = await queued(service, 'Go');
      const notifier = new Notifier(service.db, testLogger());
      const deps = { db: service.db, notifier, log: testLogger() };
      await beginModelCall(deps, turn.id, 1, { workerId: worker, token: null }, { id: 'scripted', price: null });
      await startWorkflow(service, turn.id);
      expect((await service.ended(sessionId, 20_000)).type).to.equal('turn.completed');
      expect(await typesOf(service, sessionId)).to.deep.equal(TOLD);
    });
  });

  describe('with few slots', () => {
    let service: TurnService;
    before(async () => (service = await startTurnService({ own: OWN, config: { workerMaxActivities: 4 } })));
    after(() => service.close());

    it('runs ahead while less than half of them are in use', async () => {
      const gate = service.model.gate();
      service.model.script(() => text('one two', { every: 0, before: { 1: wait(gate) } }));
      const turns: { sessionId: string; turnId: string }[] = [];
      for (let n = 0; n < 4; n += 1) {
        const sessionId = await service.session({ thinking_enabled: false });
        const turnId = await service.send(sessionId, `Go ${n}`);
        turns.push({ sessionId, turnId });
        await eventually('its activity has its call', async () => {
          const [call] = await callsOf(service, turnId);
          return call?.has_token === true;
        });
      }
      const calls = await Promise.all(turns.map(({ turnId }) => callsOf(service, turnId)));
      expect(calls.map(([call]) => call!.joined_by !== null)).to.deep.equal([true, true, false, false]);
      gate.open();
      for (const { sessionId } of turns) await service.ended(sessionId);
    });
  });

  describe('with two slots', () => {
    let service: TurnService;
    let worker: string;
    before(async () => {
      service = await startTurnService({ own: OWN, config: { workerMaxActivities: 2 } });
      [{ id: worker }] = await service.db.query<[{ id: string }]>('SELECT id FROM workers');
    });
    after(() => service.close());
    beforeEach(() => service.model.reset());

    it('gives its slot back at its end if another worker waits for it', async () => {
      const gate = hold(service);
      const { sessionId, turnId } = await orphan(service, 'Go');
      await gate.reached;
      const another = `1@another-${randomUUID()}`;
      const told = await listen(service, channelOfWorker(another));
      const waits = JSON.stringify({ waits: turnId, worker: another });
      await service.db.query('SELECT pg_notify($1, $2)', [channelOfWorker(worker), waits]);
      // Both reach the worker on one connection, in this order.
      await service.api('POST', `/v1/sessions/${sessionId}/cancel`);
      expect(await told.next).to.deep.equal({ ended: turnId });
      service.model.script(() => 'one two');
      const next = await orphan(service, 'Go on');
      expect((await service.ended(next.sessionId)).type).to.equal('turn.completed');
      expect((await callsOf(service, next.turnId))[0]).to.include({ worker_id: worker, has_token: false });
    });
  });

  describe('with RUN_AHEAD off', () => {
    let service: TurnService;
    before(async () => (service = await startTurnService({ own: OWN, config: { runAhead: false } })));
    after(() => service.close());

    it('waits for Temporal', async () => {
      const { sessionId, turnId, gate } = await started(service);
      await gate.reached;
      expect((await callsOf(service, turnId))[0]).to.include({ joined_by: null, has_token: true });
      gate.open();
      expect((await service.ended(sessionId)).type).to.equal('turn.completed');
      expect((await callsOf(service, turnId))[0]).to.include({ joined_by: null });
    });
  });

  describe('with RUN_AHEAD off on some workers', () => {
    let service: TurnService;
    let off: string;
    before(async () => {
      service = await startTurnService({ own: OWN, workers: 0 });
      await service.startWorker({ runAhead: false });
      [{ id: off }] = await service.db.query<[{ id: string }]>('SELECT id FROM workers');
    });
    after(() => service.close());
    beforeEach(() => service.model.reset());
    const madeBy = async (turnId: string): Promise<string> => (await callsOf(service, turnId))[0]!.worker_id;

    it('begins normally on one of them', async () => {
      service.model.script(() => 'Done.');
      const sessionId = await service.session({ thinking_enabled: false });
      const [event] = await service.run(sessionId, 'Go');
      const calls = await callsOf(service, event.turn_id);
      expect(calls).to.have.length(1);
      expect(calls[0]).to.include({ worker_id: off, joined_by: null, has_token: true });
      expect(await typesOf(service, sessionId)).to.deep.equal(TOLD);
    });

    it('is one call if it runs ahead on another one, and its activity is given to one of them', async () => {
      await service.startWorker();
      // The API reads which workers live every two seconds.
      await eventually('a turn that ran ahead was given to it', async () => {
        service.model.reset();
        const { sessionId, turnId, gate } = await started(service);
        await gate.reached;
        let taker: string | null | undefined;
        await eventually('its activity has begun', async () => {
          const { raw } = await client.workflow.getHandle(turnId).describe();
          const [activity] = raw.pendingActivities ?? [];
          taker = activity?.lastWorkerIdentity;
          return Boolean(taker) && (taker !== off || Boolean(activity!.lastFailure) || (await madeBy(turnId)) === off);
        });
        const maker = await madeBy(turnId);
        gate.open();
        expect((await service.ended(sessionId)).type).to.equal('turn.completed');
        expect(await typesOf(service, sessionId)).to.deep.equal(TOLD);
        expect(service.model.requests).to.have.length(1);
        return taker === off && maker !== off;
      });
    });
  });

  describe('whose model asks for a longer wait than FALLBACK_AFTER_SECONDS', () => {
    let service: TurnService;
    let model: ScriptedModel;
    before(async () => {
      model = await startScriptedModel();
      const [own, other] = ['own', 'other'].map((id) => ({ ...TEST_MODEL, id, model: id, base_url: model.url }));
      service = await startTurnService({
        ...{ models: [own!, other!], workers: 2, own: OWN },
        config: { fallbackAfterSeconds: 30, modelRetrySeconds: 600 },
      });
    });
    after(async () => {
      await service.close();
      await model.close();
    });

    it('falls back at once, joined on another worker', async () => {
      for (let n = 0; n < 30; n += 1) {
        model.reset();
        let fail = (): void => undefined;
        const isJoined = new Promise<void>((resolve) => (fail = resolve));
        model.script(async (_, index) => {
          if (index > 0) return 'Done.';
          await isJoined;
          return failure('overloaded_error', { headers: { 'retry-after': '60' } });
        });
        const sessionId = await service.session({
          ...{ model_id: 'own', fallback_model_ids: ['other'], thinking_enabled: false },
        });
        const turnId = await service.send(sessionId, 'Go');
        const call = await joined(service, turnId);
        fail();
        // Sooner than the first model may be called again.
        expect((await service.ended(sessionId, 25_000)).type).to.equal('turn.completed');
        const types = ['user.message', 'agent.model_changed', 'agent.message', 'turn.completed'];
        expect(await typesOf(service, sessionId)).to.deep.equal(types);
        expect(model.requests.map(({ body }) => body.model)).to.deep.equal(['own', 'other']);
        if (call.joined_by !== null && call.joined_by !== call.worker_id) return;
      }
      throw new Error('no turn was joined there');
    });
  });
});
