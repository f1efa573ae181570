import { expect } from 'chai';
import type { Tx } from '../../src/db/db.js';
import { Notifier } from '../../src/stream/notify.js';
import { createLogger } from '../../src/platform/logger.js';
import { claimTurn } from '../../src/turns/begin.js';
import { changeTurn, ifOpen } from '../../src/turns/change-turn.js';
import { readFacts } from '../../src/turns/facts.js';
import { endTurn } from '../../src/turns/end.js';
import type { Turn } from '../../src/turns/turn.js';
import { webhookCalls, type WebhookCalls } from '../support/webhooks.js';
import { useTurnService } from '../support/use.js';

/** Rows of deliveries and events, without anything that sends them. */
describe('deliveries and their events', () => {
  let hooks: WebhookCalls;
  const service = useTurnService({ workers: 0 });
  before(async () => {
    hooks = webhookCalls(service.api, 'https://hooks.invalid/');
  });

  it('deliveries and their events are stored together: a rollback leaves neither, a commit both', async () => {
    const log = createLogger('silent', 'test');
    const deps = { db: service.db, log, notifier: new Notifier(service.db, log) };
    const webhook = await hooks.create({ event_types: ['turn.cancelled', 'agent.file'] });
    const session = await service.session({ metadata: { a: '1' } });
    const turnId = await service.send(session, 'Hello');
    const file = { id: 'file_1', filename: 'a.txt', mime_type: 'text/plain', size_bytes: 1 };
    const end = async (turn: Turn, tx: Tx): Promise<Turn> => {
      turn.append({ type: 'agent.file', data: { file } });
      turn.end({ kind: 'cancelled' }, await readFacts(tx, turnId));
      return turn;
    };

    const fail = async (_: Turn, tx: Tx): Promise<void> => {
      const rows: unknown[] = await tx.query('SELECT FROM webhook_deliveries');
      expect(rows, 'in the transaction').to.have.length(2);
      throw new Error('rolled back');
    };
    const rolledBack = await changeTurn(deps, turnId, ifOpen, end, { afterSave: fail }).catch(
      (error: unknown) => error,
    );
    expect(rolledBack).to.be.an('error').with.property('message', 'rolled back');
    expect(await hooks.deliveries(webhook.id)).to.deep.equal([]);
    expect(await service.history(session)).to.have.length(1);

    const { events } = await changeTurn(deps, turnId, ifOpen, end);
    const deliveries = await hooks.deliveries(webhook.id);
    expect(
      deliveries.map(({ event_id, event_type, state }) => ({ id: event_id, type: event_type, state })),
    ).to.have.deep.members(events.map(({ id, type }) => ({ id, type, state: 'pending' })));
    for (const { id } of deliveries) expect(id).to.match(/^dlv_[0-9a-hjkmnp-tv-z]{26}$/);
    await deps.notifier.flush();
  });

  it('a webhook of each kind gets its own', async () => {
    const [one, other] = [await hooks.create(), await hooks.create()];
    const disabled = await hooks.create({ enabled: false });
    const failures = await hooks.create({ event_types: ['turn.failed', 'agent.requires_action'] });
    const log = createLogger('silent', 'test');
    const deps = { db: service.db, log, notifier: new Notifier(service.db, log) };
    const turnId = await service.send(await service.session(), 'Hello');
    await claimTurn(deps, turnId);
    await endTurn(deps, turnId, { kind: 'completed', stopReason: 'end_turn' });
    const [[first], [second]] = [await hooks.deliveries(one.id), await hooks.deliveries(other.id)];
    expect(first!.event_id).to.equal(second!.event_id);
    expect(first!.id).to.not.equal(second!.id);
    expect(await hooks.deliveries(disabled.id)).to.deep.equal([]);
    expect(await hooks.deliveries(failures.id)).to.deep.equal([]);
    await deps.notifier.flush();
  });
});
