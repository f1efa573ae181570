import { expect } from 'chai';
import { UsageError } from '../../ops/command.js';
import { runKeys } from '../../ops/keys.js';
import { eventually } from '../support/eventually.js';
import { useService } from '../support/use.js';

describe('keys: expiry, projects and limits', () => {
  const service = useService();

  const run = (...args: string[]): Promise<number> => runKeys(args, service.config.databaseUrl);

  it('npm run keys lets a key expire, and undoes it', async () => {
    const key = await service.newKey();
    const [row] = await service.db.query<{ id: string }[]>('SELECT id FROM api_keys ORDER BY created_at DESC LIMIT 1');
    const status = async (): Promise<number> => (await service.as(key)('GET', '/v1/models')).status;
    expect(await run('expire', row!.id, '--at', new Date(Date.now() - 1000).toISOString())).to.equal(0);
    expect(await status()).to.equal(401);
    expect(await run('expire', row!.id, '--at', 'never')).to.equal(0);
    // A process remembers a refused key for a second.
    await eventually('the key works again', async () => (await status()) === 200);
    expect(await run('expire', 'key_none', '--at', 'never')).to.equal(1);
    for (const args of [
      ['expire', row!.id],
      ['expire', '--at', 'never'],
      ['expire', row!.id, '--at', 'soon'],
    ]) {
      expect(await run(...args).catch((error: unknown) => error)).to.be.instanceOf(UsageError);
    }
  });

  it('npm run keys lists projects, and limits one', async () => {
    expect(await run('limit', '--project', 'demo', '--max-running-turns', '3')).to.equal(0);
    expect(await service.db.query(`SELECT max_running_turns FROM projects WHERE name = 'demo'`)).to.deep.equal([
      { max_running_turns: 3 },
    ]);
    expect(await run('projects', '--json')).to.equal(0);
    expect(await run('limit', '--project', 'none', '--max-running-turns', '3')).to.equal(1);
    expect(await run('limit', '--project', 'demo').catch((error: unknown) => error)).to.be.instanceOf(UsageError);
  });
});
