import { expect } from 'chai';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parse } from 'yaml';
import { SERVER_SETTINGS } from '../temporal-dev/temporal-server.js';
import { skip } from './support/skip.js';

const root = new URL('../', import.meta.url);
const read = (path: string): string => readFileSync(new URL(path, root), 'utf8');
const units = readdirSync(new URL('deploy/systemd/', root))
  .filter((name) => name.endsWith('.service'))
  .map((name) => `deploy/systemd/${name}`);

interface Service {
  restart?: string;
  env_file: string;
  mem_limit?: string;
  pids_limit?: number | string;
  environment: Record<string, string>;
  depends_on: Record<string, unknown>;
  volumes: string[];
  ports: string[];
  healthcheck?: object;
}

describe('the files for plain machines', () => {
  it('compose.yaml gives Temporal the version and the settings of npm start, and no others', () => {
    const { temporal } = (
      parse(read('compose.yaml')) as { services: Record<string, { image: string; command: string[] }> }
    ).services;
    const own = ['server', 'start-dev', '--ip=0.0.0.0', '--db-filename=/data/temporal.db'];
    const settings = SERVER_SETTINGS.map(([option, value]) => `${option}=${value}`);
    expect(temporal!.command).to.have.members([...own, ...settings]);
    const [, version] = /TEMPORAL_VERSION = '(.*)'/.exec(read('temporal-dev/temporal-cli.mjs'))!;
    expect(temporal!.image).to.equal(`temporalio/temporal:${version}`);
  });

  it('compose.yaml honours every setting of .env, and starts all parts again after a crash', () => {
    const { services } = parse(read('compose.yaml'), { merge: true }) as { services: Record<string, Service> };
    const { files, ...others } = services;
    expect(Object.keys(others)).to.have.members(['postgres', 'temporal', 'migrate', 'api', 'worker']);
    for (const [name, service] of Object.entries(others)) {
      expect(service.restart, name).to.equal(name === 'migrate' ? 'no' : 'unless-stopped');
    }
    // Both do their work once.
    expect(files!.restart).to.equal(undefined);
    for (const name of ['migrate', 'api', 'worker']) {
      expect(services[name]!.env_file, name).to.equal('.env');
      for (const [setting, value] of Object.entries(services[name]!.environment)) {
        const isFixed = ['HOST', 'PORT', 'METRICS_PORT'].includes(setting);
        expect(value.startsWith(`\${${setting}:`), `${name}: ${setting} of .env`).to.equal(!isFixed);
      }
    }
    for (const name of ['api', 'worker']) {
      expect(services[name]!.depends_on.temporal).to.deep.equal({ condition: 'service_healthy' });
      expect(services[name]!.volumes).to.include('./models:/etc/models:ro');
      expect(services[name]!.ports.some((mapping) => mapping.endsWith(':9464'))).to.equal(true);
    }
    expect(services.temporal!.healthcheck).to.have.property('test');
  });

  it('the units start the roles of the image, and wait until they have drained', () => {
    expect(units).to.have.length(2);
    for (const unit of units) {
      const text = read(unit);
      const role = /agent-session-(\w+)@\.service$/.exec(unit)![1]!;
      expect(text).to.match(new RegExp(`^ExecStart=/bin/sh deploy/image/entrypoint.sh ${role}$`, 'm'));
      expect(read('deploy/image/entrypoint.sh')).to.contain(`${role}) exec node`);
      // SHUTDOWN_GRACE_SECONDS is 90 unless set, and 3 s pass before what is left is ended by force.
      const delay = Number(/SHUTDOWN_DELAY_SECONDS=(\d+)/.exec(text)?.[1] ?? 0);
      expect(Number(/^TimeoutStopSec=(\d+)$/m.exec(text)![1])).to.be.greaterThan(93 + delay);
      // Two processes of a role on one machine: the instance is the port.
      expect(text).to.match(role === 'api' ? /^Environment=.*\bPORT=%i$/m : /^Environment=.*\bMETRICS_PORT=%i$/m);
      expect(text)
        .to.match(/^User=agent-session$/m)
        // A worker that has lost its lease exits.
        .and.match(/^Restart=always$/m)
        .and.match(/^NoNewPrivileges=yes$/m);
    }
  });

  it('compose.yaml and the units limit memory and processes of API and worker, and let a worker make groups for its commands', () => {
    const { services } = parse(read('compose.yaml'), { merge: true }) as { services: Record<string, Service> };
    for (const name of ['api', 'worker']) {
      expect(services[name]!.mem_limit, name).to.match(/^\$\{[A-Z]+_MEMORY:-\d+g\}$/);
      expect(String(services[name]!.pids_limit), name).to.match(/\d{3}/);
    }
    for (const unit of units) {
      expect(read(unit))
        .to.match(/^MemoryMax=\d+[G%]$/m)
        .and.match(/^TasksMax=\d+$/m);
    }
    const worker = read('deploy/systemd/agent-session-worker@.service');
    expect(worker)
      .to.match(/^Delegate=memory pids cpu$/m)
      .and.match(/^OOMPolicy=continue$/m);
    // They take from bubblewrap what it needs.
    expect(worker).to.not.match(
      /^(RestrictNamespaces|PrivateUsers|ProtectControlGroups|ProtectKernelTunables|ProtectProc|SystemCallFilter)=/m,
    );
  });

  it('run.sh gives a command the settings, the home of its user and its arguments', function () {
    if (process.getuid!() !== 0) skip(this, 'run.sh needs root');
    const dir = mkdtempSync(join(tmpdir(), 'settings-'));
    const settings = join(dir, 'service.env');
    writeFileSync(settings, "DATABASE_URL='postgres://u:p$1&@127.0.0.1:1/none'\n");
    writeFileSync(join(dir, 'node'), '#!/bin/sh\necho "$DATABASE_URL|$HOME|$*"\n', { mode: 0o755 });
    const env = { PATH: `${dir}:${process.env.PATH}`, HOME: dir, SERVICE_SETTINGS: settings, SERVICE_USER: 'root' };
    const script = fileURLToPath(new URL('deploy/systemd/run.sh', root));
    const { stdout } = spawnSync('sh', [script, 'keys', 'create', '--project', 'demo'], { env, encoding: 'utf8' });
    rmSync(dir, { recursive: true });
    const home = fileURLToPath(root).replace(/\/$/, '');
    expect(stdout).to.equal(`postgres://u:p$1&@127.0.0.1:1/none|${home}|dist/ops/keys.js create --project demo\n`);
  });

  it('systemd understands the units, and they leave little open', function () {
    const folder = mkdtempSync(join(tmpdir(), 'units-'));
    const more = [
      'deploy/plain/temporal/temporal.service',
      'deploy/plain/agent-session-backup.service',
      'deploy/plain/agent-session-backup.timer',
    ];
    const instances = [...units, ...more].map((unit) => {
      const instance = join(folder, basename(unit).replace('@.', '@8080.'));
      // Programs that are installed later.
      writeFileSync(instance, read(unit).replace('/usr/local/bin/temporal-server', '/bin/true'));
      return instance;
    });
    const analyze = (...args: string[]) => spawnSync('systemd-analyze', ['--no-pager', ...args], { encoding: 'utf8' });
    const { error, stderr } = analyze('verify', ...instances);
    const exposure = new Map(
      instances
        .filter((unit) => unit.endsWith('.service'))
        .map((unit) => [
          basename(unit),
          Number(/exposure level for .*: ([\d.]+)/.exec(analyze('security', '--offline=yes', unit).stdout ?? '')?.[1]),
        ]),
    );
    rmSync(folder, { recursive: true });
    if (error !== undefined) skip(this, 'systemd-analyze is not here');
    expect(stderr.split('\n').filter((line) => /agent-session|temporal/.test(line))).to.deep.equal([]);
    expect(exposure.get('agent-session-api@8080.service')).to.be.at.most(2);
    // It needs namespaces for its sandbox.
    expect(exposure.get('agent-session-worker@8080.service')).to.be.at.most(5.5);
    expect(exposure.get('temporal.service')).to.be.at.most(3);
  });

  it('the files of deploy/plain are known to their programs', function () {
    const parts = [
      'nginx.conf',
      'haproxy.cfg',
      'is-primary.sh',
      'backup.sh',
      'temporal/config.yaml',
      'temporal/dynamic.yaml',
      'temporal/schema.sh',
    ];
    for (const script of parts.filter((name) => name.endsWith('.sh'))) {
      const { status, stderr } = spawnSync('sh', ['-n', fileURLToPath(new URL(`deploy/plain/${script}`, root))], {
        encoding: 'utf8',
      });
      expect(status, stderr).to.equal(0);
    }
    // Restarting two processes within ten seconds is an outage without it.
    expect(read('deploy/plain/nginx.conf').match(/^ {2}server 127\.0\.0\.1:\d+ max_fails=0;$/gm)).to.have.length(2);
    // What the page about Temporal advises, and nothing else.
    const settings = Object.keys(parse(read('deploy/plain/temporal/dynamic.yaml')) as object);
    const advised = read('docs/operations/temporal.md')
      .split('\n')
      .filter((line) => line.startsWith('| `'))
      .flatMap((line) => line.split(' | ')[0]!.match(/[a-z]+\.\w+/g) ?? []);
    expect(settings).to.have.members(advised);
    const env = { ...process.env, PRIMARY_CHECK: '/bin/true', DB_1: '127.0.0.1:1', DB_2: '127.0.0.1:2' };
    const { error, status, stderr } = spawnSync(
      'haproxy',
      ['-c', '-q', '-f', fileURLToPath(new URL('deploy/plain/haproxy.cfg', root))],
      { encoding: 'utf8', env },
    );
    if (error !== undefined) skip(this, 'HAProxy is not here');
    expect(status, stderr).to.equal(0);
  });
});
