import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import { startService, type TestService } from '../../support/service.js';
import { eventually } from '../../support/eventually.js';
import { postStream, streamedFile } from '../../support/upload.js';

const MAX_UPLOADS_PER_PROJECT = 8;

/** A body that stays open until `opened` resolves. */
async function* heldFile(opened: Promise<void>): AsyncGenerator<Buffer> {
  const [head, ...rest] = streamedFile(64 * 1024);
  yield head!;
  await opened;
  yield* rest;
}

describe('uploads at a time', () => {
  const { TMPDIR } = process.env;
  /** Holds a folder for each upload that is received. */
  let folder: string;
  let service: TestService;
  before(async () => {
    folder = mkdtempSync(join(process.env.TEST_STATE_DIR!, 'uploads-'));
    process.env.TMPDIR = folder;
    service = await startService({ config: { uploadBudgetBytes: 2000 * 1024 * 1024 } });
  });
  after(async () => {
    if (TMPDIR === undefined) delete process.env.TMPDIR;
    else process.env.TMPDIR = TMPDIR;
    await service.close();
    rmSync(folder, { recursive: true });
  });

  it('of one project wait for each other, those of another project do not', async () => {
    let open!: () => void;
    const opened = new Promise<void>((resolve) => (open = resolve));
    const held = Array.from({ length: MAX_UPLOADS_PER_PROJECT }, () => postStream(service, heldFile(opened)));
    await eventually(
      'the slots of the project are taken',
      () => readdirSync(folder).length === MAX_UPLOADS_PER_PROJECT,
    );

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

  it('take the room that is set for temporary files, and no more', async () => {
    const { UploadSlots } = await import('../../../api/http/upload/upload-slots.js');
    const slots = new UploadSlots(100, 50);
    const ctx = { request: { length: 80 } } as Parameters<typeof slots.within>[0];
    let finish!: () => void;
    const first = slots.within(ctx, 'a', 1000, () => new Promise<void>((resolve) => (finish = resolve)));
    const refused = await slots.within(ctx, 'b', 1000, () => Promise.resolve()).catch((error: unknown) => error);
    expect(refused).to.include({ type: 'service_unavailable', status: 503 });
    finish();
    await first;
    expect(await slots.within(ctx, 'b', 1000, () => Promise.resolve('received'))).to.equal('received');
  });
});
