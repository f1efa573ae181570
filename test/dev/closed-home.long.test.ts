import { expect } from 'chai';
import { execFileSync } from 'node:child_process';
import { mkdirSync, realpathSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startPostgres } from '../../dev/embedded-postgres.js';
import { copyBinaries, postgresBinaries } from '../../dev/postgres-files.js';
import { canReach, serverUser } from '../../dev/postgres-user.js';
import { skip } from '../support/skip.js';
import { makeStateDir } from '../support/state-dir.js';

/** A clone under /root: Postgres runs as another user, who can enter neither DATA_DIR nor the checkout. */
describe('the embedded Postgres for root in a closed home', () => {
  const user = serverUser();
  let open: string;
  let umask: number;
  before(function () {
    if (user === undefined) skip(this, 'only root has another user run Postgres');
    if (!canReach(tmpdir(), user)) skip(this, `the user postgres cannot enter ${tmpdir()}`);
    open = makeStateDir();
    // As `npm start` sets it.
    umask = process.umask(0o077);
  });
  after(() => {
    if (umask !== undefined) process.umask(umask);
  });

  const closed = (name: string): string => {
    mkdirSync(join(open, name), { mode: 0o700 });
    return join(open, name, '.data');
  };

  const startAndStop = async (dataDir: string, sharedHome: string): Promise<void> => {
    const { server } = await startPostgres({ dataDir, sharedHome, durable: false });
    await server.stop();
    expect(realpathSync(join(dataDir, 'postgres'))).to.match(new RegExp(`^${realpathSync(sharedHome)}/data-`));
  };

  it('the embedded Postgres for root in a closed home starts where the shared folder does not exist', () =>
    startAndStop(closed('home-1'), join(open, 'var', 'lib', 'agent-session-service')));

  it('the embedded Postgres for root in a closed home starts where an earlier start has left the shared folder closed', async () => {
    const sharedHome = join(open, 'left-closed');
    mkdirSync(sharedHome, { mode: 0o700 });
    await startAndStop(closed('home-2'), sharedHome);
  });

  it('the embedded Postgres for root in a closed home runs a copy of binaries that it cannot reach', async () => {
    const copy = join(open, 'copies', 'of', 'binaries');
    const { initdb } = copyBinaries(await postgresBinaries(open), copy);
    expect(execFileSync(initdb, ['--version'], { cwd: '/', encoding: 'utf8', ...user })).to.match(
      /^initdb \(PostgreSQL\)/,
    );
    rmSync(copy, { recursive: true });
  });
});
