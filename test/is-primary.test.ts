import { expect } from 'chai';
import { spawnSync } from 'node:child_process';
import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const CHECK = fileURLToPath(new URL('../deploy/plain/is-primary.sh', import.meta.url));
const HAPROXY = fileURLToPath(new URL('../deploy/plain/haproxy.cfg', import.meta.url));

/** What the check says of a server to which psql answers so, and to which HAProxy has that many connections. */
function checked(script: string, connections = 0): number | null {
  const dir = mkdtempSync(join(tmpdir(), 'psql-'));
  try {
    writeFileSync(join(dir, 'psql'), `#!/bin/sh\n${script}\n`);
    chmodSync(join(dir, 'psql'), 0o755);
    const env = { ...process.env, PATH: `${dir}:${process.env.PATH}`, HAPROXY_SERVER_CURCONN: `${connections}` };
    return spawnSync('sh', [CHECK, '127.0.0.1', '6432', '10.0.0.7', '5432'], { env }).status;
  } finally {
    rmSync(dir, { recursive: true });
  }
}

/** As psql prints it and ends. */
const refused = (reason: string): string =>
  `echo 'psql: error: connection to server at "10.0.0.7", port 5432 failed: FATAL:  ${reason}' >&2; exit 2`;

describe('the check of the primary', () => {
  it('the server that takes writes passes, and no other one', () => {
    expect(checked('echo f')).to.equal(0);
    expect(checked('echo t')).to.equal(1);
    expect(checked('exit 2')).to.equal(1);
    expect(checked(refused('the database system is starting up'))).to.equal(1);
    expect(checked(refused('password authentication failed for user "haproxy"'))).to.equal(1);
  });

  it('a primary without a free connection passes: it lives, and its connections must not be cut', () => {
    const full = [
      'sorry, too many clients already',
      // Postgres 15, and later ones.
      'remaining connection slots are reserved for non-replication superuser connections',
      'remaining connection slots are reserved for roles with the SUPERUSER attribute',
    ];
    for (const reason of full) expect(checked(refused(reason), 3), reason).to.equal(0);
    // HAProxy has connections to the primary alone: a standby that is full stays out.
    for (const reason of full) expect(checked(refused(reason)), reason).to.equal(1);
    expect(checked('echo t', 3)).to.equal(1);
    expect(checked(refused('the database system is shutting down'), 3)).to.equal(1);
  });

  it('a check may take three seconds before it counts as failed: a busy machine needs more than one to start psql', () => {
    // HAProxy ends an external check after `inter`.
    expect(readFileSync(HAPROXY, 'utf8')).to.match(/default-server inter 3s fastinter 1s downinter 1s fall 3 rise 1 /);
  });
});
