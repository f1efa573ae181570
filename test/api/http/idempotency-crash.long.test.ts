import { expect } from 'chai';
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { AgentSessionClient } from '../../../client/src/index.js';
import { eventually } from '../../support/eventually.js';
import { apiClient } from '../../support/client.js';
import { checkAgainstOpenApi } from '../../support/openapi-check.js';
import { useService } from '../../support/use.js';

describe('Idempotency-Key over a crash', () => {
  let child: ChildProcess;
  const service = useService({ own: 'triggers slow its commits down' });
  before(async () => {
    await service.db.query(
      `CREATE FUNCTION dawdle() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN PERFORM pg_sleep(1); RETURN NULL; END'`,
    );
  });
  after(async () => {
    child.kill('SIGKILL');
  });

  /** An API in a process of its own on the same database. */
  const spawnApi = async (): Promise<string> => {
    const { config } = service;
    child = spawn(process.execPath, ['--import', 'tsx', 'api/main.ts'], {
      stdio: ['ignore', 'pipe', 'inherit'],
      env: {
        ...process.env,
        DATABASE_URL: config.databaseUrl,
        ENCRYPTION_KEY: config.encryptionKeys[0]!.toString('base64'),
        MODELS_FILE: config.modelsFile!,
        PORT: '0',
        LOG_LEVEL: 'info',
      },
    });
    for await (const line of createInterface(child.stdout!)) {
      const { url } = JSON.parse(line) as { url?: string };
      if (url !== undefined) return url;
    }
    throw new Error('the API ended before it listened');
  };

  /** Commits of new rows take a second from here on: time to kill whoever waits for one. */
  const dawdleAtCommitsOf = (table: string): Promise<unknown> =>
    service.db.query(`
      CREATE CONSTRAINT TRIGGER dawdle AFTER INSERT ON ${table} DEFERRABLE INITIALLY DEFERRED
        FOR EACH ROW EXECUTE FUNCTION dawdle()`);
  const isCommitting = async (): Promise<boolean> => {
    const sleeping = `SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND wait_event = 'PgSleep'`;
    return (await service.db.query<unknown[]>(sleeping)).length > 0;
  };

  it('a post that was killed between its commit and its answer has had its effect once', async () => {
    await dawdleAtCommitsOf('sessions');
    const post = (url: string) =>
      apiClient(url, service.key, checkAgainstOpenApi)(
        'POST',
        '/v1/sessions',
        { model_id: 'test-model' },
        {
          'Idempotency-Key': 'crash',
        },
      );

    const cut = post(await spawnApi()).catch(() => 'cut');
    await eventually('it commits', isCommitting);
    child.kill('SIGKILL');
    await once(child, 'exit');
    expect(await cut).to.equal('cut');
    await eventually('the commit ends', async () => !(await isCommitting()));

    const [session] = await service.db.query<{ id: string }[]>('SELECT id FROM sessions');
    const again = await post(service.url);
    expect(again.status).to.equal(201);
    expect(again.headers.get('idempotency-replayed')).to.equal('true');
    expect(again.body.id).to.equal(session!.id);
    expect(await service.db.query('SELECT 1 FROM sessions')).to.have.length(1);
  });

  it('a message that the client sends through such a crash starts one turn', async () => {
    const { body: session } = await service.api('POST', '/v1/sessions', { model_id: 'test-model' });
    await dawdleAtCommitsOf('turns');
    let url = await spawnApi();
    const client = new AgentSessionClient({
      baseUrl: 'http://api',
      apiKey: service.key,
      fetch: (input, init) => fetch((input as string).replace('http://api', url), init),
    });
    const sending = client.sendMessage(session.id as string, { content: 'Hello' });
    await eventually('it commits', isCommitting);
    child.kill('SIGKILL');
    await once(child, 'exit');
    url = service.url;

    const event = await sending;
    const turns = await service.db.query<{ id: string }[]>('SELECT id FROM turns');
    expect(turns).to.deep.equal([{ id: event.turn_id }]);
    const { body: history } = await service.api('GET', `/v1/sessions/${session.id}/events`);
    expect(history.items).to.deep.equal([event]);
  });
});
