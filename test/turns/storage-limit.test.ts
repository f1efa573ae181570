import { expect } from 'chai';
import { eventually } from '../support/eventually.js';
import { text, toolUse } from '../support/scripted-model.js';
import { upload } from '../support/upload.js';
import { useTurnService } from '../support/use.js';

const MAX_BYTES = 10 ** 6;

describe('a turn that delivers a file beyond the storage of its project', () => {
  const service = useTurnService({
    config: { maxStoragePerProject: MAX_BYTES },
    model: { max_output_tokens: 50_000, context_window: 500_000 },
  });
  before(async () => {
    service.model.on(/Deliver/, ({ step, userText }) =>
      step === 0
        ? toolUse('deliver_file', { filename: 'a.txt', content: 'x'.repeat(userText.includes('large') ? 60_000 : 100) })
        : text('Done.'),
    );
  });

  /** Sends the message; returns the result of the delivery once the turn has ended. */
  const delivery = async (session: string) => {
    expect(await service.ended(session)).to.include({ type: 'turn.completed' });
    const events = await service.history(session);
    const result = events.find(({ type }) => type === 'agent.tool_result');
    const files = events.filter(({ type }) => type === 'agent.file').length;
    return { files, isError: result!.is_error as boolean, content: result!.content as string };
  };

  it('a turn that delivers a file beyond the storage of its project goes on with an error result, and so with room that another upload took meanwhile', async () => {
    const session = await service.session();
    await upload(service, 'first.bin', Buffer.alloc(800_000));
    await service.send(session, 'Deliver it');
    expect(await delivery(session)).to.deep.include({ files: 1, isError: false });

    const second = await service.session();
    await upload(service, 'second.bin', Buffer.alloc(140_000));
    await service.send(second, 'Deliver a large one');
    const refused = await delivery(second);
    expect(refused).to.deep.include({ files: 0, isError: true });
    expect(refused.content).to.contain('1000000 bytes, its limit').and.contain('Nothing was delivered.');

    // The delivery finds room, stores its object and waits for the sum, which has no room left when it is free.
    const third = await service.session();
    const takeRest = service.db.createQueryRunner();
    await takeRest.startTransaction();
    await takeRest.query(`UPDATE project_storage SET bytes = $1`, [MAX_BYTES]);
    await service.send(third, 'Deliver it');
    await eventually('the delivery waits', async () => {
      const waiting: unknown[] = await service.db.query(
        `SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock' AND application_name = 'worker'`,
      );
      return waiting.length > 0;
    });
    await takeRest.commitTransaction();
    await takeRest.release();
    expect(await delivery(third)).to.deep.include({ files: 0, isError: true });
    const { body } = await service.api('GET', '/v1/files?origin=OUTPUT');
    expect(body.items).to.have.length(1);
  });
});
