import { EventEmitter } from 'node:events';
import { expect } from 'chai';
import { UploadSlots } from '../../../api/http/upload/upload-slots.js';
import type { ServiceError } from '../../../src/platform/errors.js';
import { eventually } from '../../support/eventually.js';
import { useTempFolder } from '../../support/temp-folder.js';
import { postStream, streamedFile } from '../../support/upload.js';
import { useService } from '../../support/use.js';

const MAX_UPLOADS_PER_PROJECT = 8;

/** A body that stays open until `opened` resolves. */
async function* heldFile(opened: Promise<void>): AsyncGenerator<Buffer> {
  const [head, ...rest] = streamedFile(64 * 1024);
  yield head!;
  await opened;
  yield* rest;
}

describe('uploads at a time', () => {
  /** Holds a folder for each upload that is received. */
  const temp = useTempFolder();
  const service = useService({ config: { uploadBudgetBytes: 2000 * 1024 * 1024 } });

  it('uploads at a time of one project wait for each other, those of another project do not', async () => {
    let open!: () => void;
    const opened = new Promise<void>((resolve) => (open = resolve));
    const held = Array.from({ length: MAX_UPLOADS_PER_PROJECT }, () => postStream(service, heldFile(opened)));
    await eventually('the slots of the project are taken', () => temp.names().length === MAX_UPLOADS_PER_PROJECT);

    let isNinthDone = false;
    const ninth = postStream(service, streamedFile(10)).then((answer) => {
      isNinthDone = true;
      return answer;
    });
    const other = { url: service.url, key: await service.newKey({ project: 'other' }) };
    expect((await postStream(other, streamedFile(10))).status).to.equal(201);
    expect(isNinthDone).to.equal(false);
    open();
    for (const answer of await Promise.all([...held, ninth])) expect(answer.status).to.equal(201);
  });

  it('uploads at a time take the room that is set for temporary files, and no more', async () => {
    const slots = new UploadSlots(100, 50);
    const ctx = { request: { length: 80 }, res: new EventEmitter() } as Parameters<typeof slots.within>[0];
    let finish!: () => void;
    const first = slots.within(ctx, 'a', 1000, () => new Promise<void>((resolve) => (finish = resolve)));
    const refused = await slots.within(ctx, 'b', 1000, () => Promise.resolve()).catch((error: unknown) => error);
    expect(refused).to.include({ type: 'service_unavailable', status: 503 });
    finish();
    await first;
    expect(await slots.within(ctx, 'b', 1000, () => Promise.resolve('received'))).to.equal('received');
  });

  it('uploads at a time give up their place in the line when their client leaves', async () => {
    const slots = new UploadSlots(100, 60_000);
    const uploadOf = (length: number): Parameters<typeof slots.within>[0] =>
      ({ request: { length }, res: new EventEmitter() }) as Parameters<typeof slots.within>[0];
    const ends: (() => void)[] = [];
    const hold = (bytes: number): Promise<void> =>
      slots.within(uploadOf(bytes), 'a', 1000, () => new Promise<void>((end) => ends.push(end)));
    const held = Array.from({ length: MAX_UPLOADS_PER_PROJECT - 1 }, () => hold(10));
    // One waits for room, the next one for a slot.
    const gone = [uploadOf(80), uploadOf(10)];
    const waiting = gone.map((ctx) =>
      slots.within(ctx, 'a', 1000, () => Promise.resolve('received')).catch((error: ServiceError) => error.type),
    );
    for (const { res } of gone) res.emit('close');
    expect(await Promise.all(waiting)).to.deep.equal(['service_unavailable', 'service_unavailable']);
    // The slot of the first one is free again.
    held.push(hold(10));
    await eventually('all slots are used', () => ends.length === MAX_UPLOADS_PER_PROJECT);
    for (const end of ends) end();
    await Promise.all(held);
  });

  it('uploads at a time do not begin to wait for a client that has left', async () => {
    const slots = new UploadSlots(100, 60_000);
    const ctx = { request: { length: 10 }, res: Object.assign(new EventEmitter(), { closed: true }) };
    const answer = slots.within(ctx as Parameters<typeof slots.within>[0], 'a', 1000, () =>
      Promise.resolve('received'),
    );
    expect(await answer.catch((error: ServiceError) => error.type)).to.equal('service_unavailable');
  });
});
