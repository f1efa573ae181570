import { Storage as Client } from '@google-cloud/storage';
import { freePort } from '../../src/platform/free-port.js';
import { generateKeyPairSync } from 'node:crypto';
import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { EmbeddedServer } from '../../dev/server-process.js';
import { EMULATOR } from './gcs-emulator-binary.mjs';
import { makeStateDir } from './state-dir.js';

/** Google Cloud Storage as fake-gcs-server plays it, for this process: the library finds it by STORAGE_EMULATOR_HOST. */
export interface GcsEmulator {
  url: string;
  bucket: string;
  /** Every object's name. */
  names(): Promise<string[]>;
  /** Ends it without warning. */
  kill(): Promise<void>;
  restart(): Promise<void>;
  stop(): Promise<void>;
}

/** Starts an emulator with one empty bucket, and sets credentials of a made-up service account. */
export async function startGcsEmulator(): Promise<GcsEmulator> {
  const dir = makeStateDir();
  const port = await freePort();
  const url = `http://127.0.0.1:${port}`;
  const server = await EmbeddedServer.start(
    'The GCS emulator',
    {
      command: EMULATOR,
      args: [
        ...['-scheme', 'http', '-host', '127.0.0.1', '-port', String(port), '-log-level', 'error'],
        ...['-backend', 'filesystem', '-filesystem-root', join(dir, 'gcs')],
        ...['-public-host', `127.0.0.1:${port}`, '-external-url', url],
      ],
      dataDir: dir,
      name: 'gcs',
      stopSignal: 'SIGTERM',
    },
    async () => (await fetch(`${url}/_internal/healthcheck`).catch(() => null))?.ok === true,
  );
  const usual = { ...process.env };
  const bucket = 'test-bucket';
  const client = new Client({ projectId: 'test', apiEndpoint: url });
  await client.createBucket(bucket);
  process.env.STORAGE_EMULATOR_HOST = url;
  process.env.GOOGLE_APPLICATION_CREDENTIALS = writeKeyFile(dir);

  return {
    url,
    bucket,
    async names() {
      const [files] = await client.bucket(bucket).getFiles();
      return files.map((file) => file.name);
    },
    kill: () => server.kill(),
    restart: () => server.restart(),
    async stop() {
      for (const name of ['STORAGE_EMULATOR_HOST', 'GOOGLE_APPLICATION_CREDENTIALS']) {
        if (usual[name] === undefined) delete process.env[name];
        else process.env[name] = usual[name];
      }
      await server.stop();
    },
  };
}

/** A key file as Google issues them; nothing but this process knows the key. */
function writeKeyFile(dir: string): string {
  const path = join(dir, 'key.json');
  writeFileSync(path, JSON.stringify(testCredentials()));
  return path;
}

export function testCredentials(): { type: string; project_id: string; client_email: string; private_key: string } {
  const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
  return {
    type: 'service_account',
    project_id: 'test',
    client_email: 'tests@test.iam.gserviceaccount.com',
    private_key: privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(),
  };
}

/** Why the emulator cannot be started; null if it can. */
export function emulatorMissing(): string | null {
  return existsSync(EMULATOR) ? null : 'needs fake-gcs-server, which `npm run test:faults` builds with Go';
}
