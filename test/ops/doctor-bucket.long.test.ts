import { expect } from 'chai';
import { once } from 'node:events';
import { createServer, request as forward, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { diagnose, formatFindings } from '../../ops/doctor/diagnose.js';
import type { Finding } from '../../ops/doctor/check.js';
import { emulatorMissing, startGcsEmulator, type GcsEmulator } from '../support/gcs-emulator.js';
import { skip } from '../support/skip.js';
import { startTurnService, type TurnService } from '../support/turns.js';

describe('doctor with a bucket', () => {
  let service: TurnService;
  let dir: string;
  let env: NodeJS.ProcessEnv;
  let emulator: GcsEmulator | undefined;
  let front: Server | undefined;
  before(async function () {
    const missing = emulatorMissing();
    if (missing !== null) skip(this, missing);
    const gcs = (emulator = await startGcsEmulator());
    service = await startTurnService();
    dir = mkdtempSync(join(tmpdir(), 'doctor-'));
    const { databaseUrl, encryptionKeys, modelsFile, taskQueue } = service.config;
    env = {
      DATABASE_URL: databaseUrl,
      ENCRYPTION_KEY: encryptionKeys[0]!.toString('base64'),
      DATA_DIR: dir,
      MODELS_FILE: modelsFile!,
      TASK_QUEUE: taskQueue,
    };
    // The emulator takes any signature; this does what Google does with a wrong one.
    front = createServer((request, response) => {
      if (request.url!.includes('X-Goog-Signature')) return response.writeHead(403).end();
      const { method, headers, url } = request;
      const onward = forward(`${gcs.url}${url}`, { method, headers }, (answer) => {
        response.writeHead(answer.statusCode!, answer.headers);
        answer.pipe(response);
      });
      request.pipe(onward);
    }).listen(0, '127.0.0.1');
    await once(front, 'listening');
  });
  after(async () => {
    front?.close();
    await emulator?.stop();
    if (service === undefined) return;
    rmSync(dir, { recursive: true });
    await service.close();
  });

  /** Diagnoses with one thing wrong; expects exactly the storage to fail. */
  async function storageFault(wrong: NodeJS.ProcessEnv): Promise<Finding> {
    const findings = await diagnose({ ...env, ...wrong });
    const failed = findings.filter(({ ok }) => !ok);
    expect(
      failed.map(({ part }) => part),
      formatFindings(findings),
    ).to.deep.equal(['storage']);
    return failed[0]!;
  }

  it('doctor with a bucket checks a signed link, and reports a rejected one and an account that may not sign', async () => {
    const { url } = emulator!;
    const bucket = { STORAGE_URL: `gs://${emulator!.bucket}/files` };
    expect((await diagnose({ ...env, ...bucket })).filter(({ ok }) => !ok)).to.deep.equal([]);

    process.env.STORAGE_EMULATOR_HOST = `http://127.0.0.1:${(front!.address() as AddressInfo).port}`;
    const refused = await storageFault(bucket);
    process.env.STORAGE_EMULATOR_HOST = url;
    expect(refused.detail).to.equal('the signed link answers 403');
    expect(refused.remedy).to.contain('roles/iam.serviceAccountTokenCreator');

    const key = process.env.GOOGLE_APPLICATION_CREDENTIALS;
    const user = { type: 'authorized_user', client_id: 'x', client_secret: 'x', refresh_token: 'x' };
    process.env.GOOGLE_APPLICATION_CREDENTIALS = join(dir, 'user.json');
    writeFileSync(process.env.GOOGLE_APPLICATION_CREDENTIALS, JSON.stringify(user));
    const unsigned = await storageFault(bucket);
    process.env.GOOGLE_APPLICATION_CREDENTIALS = key;
    expect(unsigned.detail).to.contain('no signed link');
    expect(unsigned.remedy).to.contain('roles/iam.serviceAccountTokenCreator');
    expect(await emulator!.names(), 'what doctor leaves behind').to.deep.equal([]);

    expect((await storageFault({ STORAGE_URL: 'gs://no-such-bucket' })).remedy).to.contain('roles/storage.objectUser');
  });
});
