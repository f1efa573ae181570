import { migrationFiles } from '../../src/db/migrations/index.js';
import { expect } from 'chai';
import { once } from 'node:events';
import { randomUUID } from 'node:crypto';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Connection } from '@temporalio/client';
import { msToTs } from '@temporalio/common/lib/time.js';
import { diagnose, formatFindings } from '../../ops/doctor/diagnose.js';
import type { Finding } from '../../ops/doctor/check.js';
import { seal } from '../../src/platform/sealed.js';
import { requireSandbox } from '../support/sandbox.js';
import { temporalAddress } from '../support/temporal.js';
import { useTurnService } from '../support/use.js';

const KEY = Buffer.alloc(32, 7);

describe('doctor', () => {
  let dir: string;
  let env: NodeJS.ProcessEnv;
  const service = useTurnService({ own: 'it damages its database' });
  before(async () => {
    dir = mkdtempSync(join(tmpdir(), 'doctor-'));
    writeModels({});
    env = {
      DATABASE_URL: service.config.databaseUrl,
      ENCRYPTION_KEY: KEY.toString('base64'),
      DATA_DIR: dir,
      MODELS_FILE: join(dir, 'models.json'),
      TASK_QUEUE: service.config.taskQueue,
      DOCTOR_TEST_KEY: 'sk-test',
    };
  });
  after(async () => {
    rmSync(dir, { recursive: true });
  });

  function writeModels(more: object): void {
    const entry = { id: 'scripted', display_name: 'Scripted', model: 'scripted-1', base_url: service.model.url };
    const sizes = { context_window: 200_000, max_output_tokens: 8000, supports_thinking: true };
    const models = [{ ...entry, ...sizes, api_key_env: 'DOCTOR_TEST_KEY', ...more }];
    writeFileSync(join(dir, 'models.json'), JSON.stringify(models));
  }

  /** Diagnoses with one thing wrong; expects exactly the named part to fail. */
  async function only(part: string, wrong: NodeJS.ProcessEnv = {}): Promise<Finding> {
    const findings = await diagnose({ ...env, ...wrong });
    expect(
      findings.filter(({ ok }) => !ok).map((one) => one.part),
      formatFindings(findings),
    ).to.deep.equal([part]);
    return findings.find(({ ok }) => !ok)!;
  }

  it('doctor passes on a working service', async () => {
    const findings = await diagnose(env);
    expect(findings.filter(({ ok }) => !ok)).to.deep.equal([]);
    expect(findings.map(({ part }) => part)).to.deep.equal([
      ...[
        'postgres',
        'schema',
        'replication',
        'listen',
        'turns',
        'encryption',
        'temporal',
        'search attributes',
        'workflow tasks',
        'worker',
        'storage',
        'sandbox',
        'public url',
      ],
      'model scripted',
    ]);
    expect(formatFindings(findings)).to.contain('ok    listen').and.contain('Everything answers.');
  });

  it('doctor reports a sandbox that was asked for and does not work, and passes without one', async () => {
    const broken = join(dir, 'bwrap');
    writeFileSync(
      broken,
      '#!/bin/sh\n[ "$1" = --help ] || { echo "bwrap: No permissions to create new namespace" >&2; exit 1; }\n',
    );
    chmodSync(broken, 0o755);
    const { PATH } = process.env;
    process.env.PATH = `${dir}:${PATH}`;
    try {
      const { detail, remedy } = await only('sandbox', { SANDBOX_PROVIDER: 'bubblewrap' });
      expect(detail).to.contain('bwrap: No permissions to create new namespace');
      expect(remedy).to.contain('user namespaces').and.contain('docs/operations/sandbox.md');
      const off = (await diagnose(env)).find(({ part }) => part === 'sandbox');
      expect(off)
        .to.deep.include({ ok: true })
        .and.have.property('detail')
        .that.matches(/^off\. A sandbox of bubblewrap/);
    } finally {
      process.env.PATH = PATH;
    }
  });

  it('doctor says what keeps the limits of commands on its machine', async function () {
    await requireSandbox(this);
    const found = await diagnose({ ...env, SANDBOX_PROVIDER: 'bubblewrap' });
    expect(found.find(({ part }) => part === 'sandbox')!.detail).to.match(
      /^a command runs in a sandbox of bubblewrap; limits of commands: memory\b.* disk\b/,
    );
  });

  it('doctor reports sandboxes in pods that were asked for outside of a cluster', async () => {
    const { detail, remedy } = await only('sandbox', { SANDBOX_PROVIDER: 'kubernetes' });
    expect(detail).to.contain('runs in no pod of Kubernetes');
    expect(remedy).to.contain('SANDBOX_PROVIDER');
  });

  it('doctor reports an invalid configuration, and runs no other check', async () => {
    const findings = await diagnose({ ...env, ENCRYPTION_KEY: 'x', MAX_STEPS: 'many' });
    expect(findings.map(({ part }) => part)).to.deep.equal(['configuration', 'configuration']);
    expect(formatFindings(findings)).to.contain('ENCRYPTION_KEY').and.contain('MAX_STEPS').and.contain('2 of 2 fail.');
  });

  it('doctor reports an unreachable Postgres', async () => {
    const findings = await diagnose({ ...env, DATABASE_URL: 'postgres://nobody@127.0.0.1:9/none' });
    const failed = findings.filter(({ ok }) => !ok);
    expect(failed.map(({ part }) => part)).to.deep.equal([
      'postgres',
      'schema',
      'replication',
      'listen',
      'turns',
      'encryption',
      'workflow tasks',
      'worker',
    ]);
    expect(failed[0]).to.have.property('remedy').that.contains('DATABASE_URL');
  });

  it('doctor says what to do about a login that Postgres refuses', async () => {
    const url = new URL(service.config.databaseUrl);
    url.password = 'other';
    const findings = await diagnose({ ...env, DATABASE_URL: url.href });
    const { detail } = findings.find(({ part }) => part === 'postgres')!;
    expect(detail).to.match(/^Postgres refuses the login: password authentication failed .+ Check user, password/);
  });

  it('doctor names one reason for an empty database', async () => {
    await service.db.query('CREATE DATABASE doctor_empty');
    const url = new URL(service.config.databaseUrl);
    url.pathname = '/doctor_empty';
    const failed = (await diagnose({ ...env, DATABASE_URL: url.href })).filter(({ ok }) => !ok);
    await service.db.query('DROP DATABASE doctor_empty WITH (FORCE)');
    expect(failed.find(({ part }) => part === 'schema')!.remedy).to.contain('npm run migrate');
    for (const name of ['turns', 'encryption', 'workflow tasks', 'worker']) {
      expect(failed.find(({ part }) => part === name)!.remedy, name).to.equal('See `schema`.');
    }
    expect(failed.map(({ part }) => part)).to.deep.equal(['schema', 'turns', 'encryption', 'workflow tasks', 'worker']);
  });

  it('doctor reports missing migrations', async () => {
    await service.db.query('CREATE TABLE kept AS SELECT * FROM migrations ORDER BY id DESC LIMIT 1');
    await service.db.query('DELETE FROM migrations WHERE id IN (SELECT id FROM kept)');
    const finding = await only('schema');
    await service.db.query('INSERT INTO migrations SELECT * FROM kept');
    await service.db.query('DROP TABLE kept');
    expect(finding.remedy).to.contain('npm run migrate');
    expect(finding.detail).to.equal(`migrations are missing: ${migrationFiles.at(-1)!.file}`);
  });

  it('doctor reports a pooler that loses notifications', async () => {
    // What a transaction pooler does: the session that listens is another one when the notification comes.
    await service.db.query(
      `CREATE SCHEMA away; CREATE FUNCTION away.pg_notify(text, text) RETURNS void LANGUAGE sql AS ''`,
    );
    const name = new URL(service.config.databaseUrl).pathname.slice(1);
    await service.db.query(`ALTER DATABASE ${name} SET search_path = away, pg_catalog, public`);
    const finding = await only('listen');
    await service.db.query(`ALTER DATABASE ${name} RESET search_path; DROP SCHEMA away CASCADE`);
    expect(finding.remedy).to.contain('transaction pooling');
  });

  it('doctor reports turns of another Temporal namespace', async () => {
    const sessionId = await service.session();
    await service.db.query(
      `INSERT INTO open_turns (turn_id, session_id, project_id, namespace)
       SELECT 'turn_elsewhere', id, project_id, 'elsewhere' FROM sessions WHERE id = $1`,
      [sessionId],
    );
    const finding = await only('turns');
    expect(finding.detail).to.contain('1 open turns').and.contain('elsewhere');
    await service.db.query(`DELETE FROM open_turns WHERE turn_id = 'turn_elsewhere'`);
  });

  it('doctor reports a PUBLIC_URL that is not registered with authorization servers', async () => {
    await service.db.query(
      `INSERT INTO mcp_servers (id, project_id, name, url, auth_type, tools)
       SELECT 'mcp_oauth', id, 'o', 'https://o', 'OAUTH', '[]' FROM projects`,
    );
    await service.db.query(
      `INSERT INTO mcp_oauth (id, client, client_is_dynamic, discovery, redirect_uri) VALUES ('mcp_oauth', $1, true, '{}', $2)`,
      [seal([KEY], 'mcp_oauth.client', 'mcp_oauth', '{}'), 'https://old.example/v1/mcp-servers/oauth/callback'],
    );
    const finding = await only('public url', { PUBLIC_URL: 'https://new.example' });
    expect(finding.detail).to.contain('https://old.example').and.contain('https://new.example');
    await service.db.query(`DELETE FROM mcp_oauth; DELETE FROM mcp_servers WHERE id = 'mcp_oauth'`);
  });

  it('doctor reports a key that does not open the stored secrets', async () => {
    const sealed = seal([Buffer.alloc(32, 9)], 'mcp_servers.credential', 'mcp_1', 'token');
    await service.db.query(
      `INSERT INTO mcp_servers (id, project_id, name, url, auth_type, credential, tools)
       SELECT 'mcp_1', id, 'n', 'https://x', 'BEARER', $1, '[]' FROM projects`,
      [sealed],
    );
    const finding = await only('encryption');
    expect(finding.detail).to.contain('mcp_1');
    expect(finding.remedy).to.contain('ENCRYPTION_KEY').and.contain('npm run reencrypt');
    await service.db.query('UPDATE mcp_servers SET credential = $1', [
      seal([KEY], 'mcp_servers.credential', 'mcp_1', 'token'),
    ]);
    expect((await diagnose(env)).every(({ ok }) => ok)).to.equal(true);
  });

  it('doctor reports an unreachable Temporal and a missing namespace', async () => {
    const { TEMPORAL_ADDRESS: address } = process.env;
    process.env.TEMPORAL_NAMESPACE = 'nowhere';
    const unknown = await diagnose(env);
    delete process.env.TEMPORAL_NAMESPACE;
    process.env.TEMPORAL_ADDRESS = '127.0.0.1:9';
    const away = await diagnose(env);
    process.env.TEMPORAL_ADDRESS = address;
    for (const findings of [unknown, away]) {
      const failed = findings.filter(({ ok }) => !ok);
      expect(failed[0]).to.have.property('part', 'temporal');
      expect(failed[0]!.remedy).to.contain('TEMPORAL_NAMESPACE');
    }
  });

  it('doctor reports missing search attributes', async () => {
    const namespace = `bare-${randomUUID()}`;
    const connection = await Connection.connect({ address: await temporalAddress() });
    await connection.workflowService.registerNamespace({
      namespace,
      workflowExecutionRetentionPeriod: msToTs('1 day'),
    });
    await connection.close();
    process.env.TEMPORAL_NAMESPACE = namespace;
    const findings = await diagnose(env);
    delete process.env.TEMPORAL_NAMESPACE;
    const [missing, worker, ...others] = findings.filter(({ ok }) => !ok);
    expect(missing).to.have.property('part', 'search attributes');
    expect(missing!.detail).to.contain('lacks ProjectId, SessionId, ModelId');
    expect(missing!.remedy)
      .to.contain('first API or worker that starts adds them')
      .and.contain('search-attribute create');
    // The workers of the tests are in another namespace.
    expect(worker).to.have.property('part', 'worker');
    expect(others).to.deep.equal([]);
  });

  it('doctor reports a task queue without workers', async () => {
    const finding = await only('worker', { TASK_QUEUE: 'another' });
    expect(finding.detail).to.contain('another');
    expect(finding.remedy).to.contain('npm run worker');
  });

  it('doctor reports a storage that is not writable', async () => {
    const file = join(dir, 'a-file');
    writeFileSync(file, '');
    chmodSync(file, 0o400);
    expect((await only('storage', { STORAGE_URL: `file://${file}` })).remedy).to.contain('STORAGE_URL');
  });

  it('doctor reports a model that is unreachable, rejects its key, or does not exist', async () => {
    writeModels({ base_url: 'http://127.0.0.1:9' });
    expect((await only('model scripted')).detail).to.contain('cannot be reached');
    const listed = JSON.stringify({ data: [{ type: 'model', id: 'scripted-1' }], has_more: false });
    const answers: Record<string, [status: number, list: string | null]> = {
      strict: [401, '{}'],
      simple: [404, listed],
      gateway: [404, null],
    };
    const server = createServer((request, response) => {
      const [status, list] = answers[request.url!.split('/')[1]!]!;
      if (list !== null && request.url!.includes('/v1/models'))
        response.setHeader('content-type', 'application/json').end(list);
      else response.writeHead(status, { 'content-type': 'application/json' }).end('{}');
    }).listen(0, '127.0.0.1');
    await once(server, 'listening');
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    writeModels({ base_url: `${url}/strict` });
    expect((await only('model scripted')).remedy).to.contain('DOCTOR_TEST_KEY');
    writeModels({ base_url: `${url}/simple`, model: 'no-such-model' });
    expect((await only('model scripted')).detail).to.contain('no-such-model');
    for (const path of ['simple', 'gateway']) {
      writeModels({ base_url: `${url}/${path}` });
      const findings = await diagnose(env);
      expect(findings.filter(({ ok }) => !ok)).to.deep.equal([]);
      expect(findings.at(-1)!.detail).to.contain(path === 'simple' ? 'is listed' : 'neither counts tokens nor lists');
    }
    writeModels({ base_url: `${url}/gateway/v1` });
    expect(await only('model scripted')).to.include({
      detail: `${url}/gateway/v1 has no /v1/models`,
      remedy: 'Write "base_url" of this entry in MODELS_FILE without /v1, which is added.',
    });
    server.close();
    writeModels({});
    const missing = await diagnose({ ...env, DOCTOR_TEST_KEY: '' });
    expect(missing).to.have.length(1);
    expect(missing[0])
      .to.include({ part: 'configuration' })
      .and.have.property('detail')
      .that.contains('DOCTOR_TEST_KEY');
  });
});
