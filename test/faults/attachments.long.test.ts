import { expect } from 'chai';
import { writeFileSync } from 'node:fs';
import { memoryOf } from '../support/memory.js';
import { startRole, type RoleProcess } from '../support/role-process.js';
import { skip } from '../support/skip.js';
import { startSinkModel, type SinkModel } from '../support/sink-model.js';
import { useFaultSystem } from '../support/use.js';
import { TEST_MODEL } from '../support/config.js';

const MIB = 1024 * 1024;
const TURNS = 40;
const IMAGE_BYTES = 3.25 * MIB;
const IMAGES = 4;
/** Of a request in base64; its text is small beside the images. */
const REQUEST_BYTES = (IMAGES * IMAGE_BYTES * 4) / 3;
const BUDGET_MIB = 64;
/** Without a budget it was more than 50 MiB a turn. */
const MAX_GROWTH_MIB = 400;

/** A PNG of 100 × 100 pixels by its header, padded to its size. */
function image(): Buffer {
  const bytes = Buffer.alloc(IMAGE_BYTES, 7);
  Buffer.from('89504e470d0a1a0a0000000d494844520000006400000064', 'hex').copy(bytes);
  return bytes;
}

describe('turns with large attachments, all at once', function () {
  this.timeout(180_000);
  let model: SinkModel;
  let service: RoleProcess;
  const system = useFaultSystem({ apis: 1, workers: 0 });
  before(async () => {
    model = await startSinkModel();
    const env: Record<string, string> = { ...system.apis[0]!.env, MEDIA_BUDGET_MB: String(BUDGET_MIB) };
    const entry = { ...TEST_MODEL, id: 'sink', model: 'sink', base_url: model.url, supports_thinking: false };
    env.MODELS_FILE = `${env.DATA_DIR}/sink.json`;
    writeFileSync(env.MODELS_FILE, JSON.stringify([entry]));
    service = await startRole('service', env);
  });
  after(async () => {
    await service.kill();
    await model.close();
  });

  const call = async (
    path: string,
    body: FormData | object,
  ): Promise<{ status: number; body: Record<string, string> }> => {
    const isForm = body instanceof FormData;
    const response = await fetch(service.url + path, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${system.key}`,
        ...(!isForm && { 'content-type': 'application/json' }),
      },
      body: isForm ? body : JSON.stringify(body),
    });
    return { status: response.status, body: (await response.json()) as Record<string, string> };
  };

  it('many turns with large attachments are accepted, completed and sent within the budget, by a process that stays small', async function () {
    if (process.platform !== 'linux') skip(this, 'needs the /proc of Linux');
    const files: string[] = [];
    for (let number = 0; number < IMAGES; number += 1) {
      const form = new FormData();
      form.set('file', new Blob([new Uint8Array(image())]), `${number}.png`);
      files.push((await call('/v1/files', form)).body.id!);
    }
    const sessions: string[] = [];
    for (let number = 0; number < TURNS; number += 1) {
      sessions.push((await call('/v1/sessions', { model_id: 'sink' })).body.id!);
    }
    const before = memoryOf(service.pid, 'VmRSS');

    const sent = await Promise.all(
      sessions.map((session) => call(`/v1/sessions/${session}/messages`, { content: 'What is it?', files })),
    );
    expect(sent.map(({ status }) => status)).to.deep.equal(sent.map(() => 201));
    for (const [index, { body }] of sent.entries()) {
      const turn = { sessionId: sessions[index]!, turnId: body.turn_id! };
      expect(await system.ended(turn, 150_000)).to.include({ type: 'turn.completed' });
    }

    const requests = model.received.filter((bytes) => bytes > REQUEST_BYTES);
    expect(requests).to.have.length(TURNS);
    expect(model.mostAtOnce).to.be.at.most(Math.floor((BUDGET_MIB * MIB) / REQUEST_BYTES));
    expect(memoryOf(service.pid, 'VmHWM') - before).to.be.below(MAX_GROWTH_MIB);
  });
});
