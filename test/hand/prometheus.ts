import { expect } from 'chai';
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { copyFileSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import getPort from 'get-port';
import { startTurnService, type TurnService } from '../support/turns.js';

/** `npm run check:prometheus`, run by hand: it needs a Prometheus (Debian has one). */
describe('a real Prometheus', () => {
  let service: TurnService;
  let dir: string;
  let prometheus: ChildProcess;
  let url: string;
  before(async function () {
    this.timeout(60_000);
    service = await startTurnService();
    dir = mkdtempSync(join(tmpdir(), 'prometheus-'));
    copyFileSync(new URL('../../deploy/prometheus/alerts.yml', import.meta.url), join(dir, 'alerts.yml'));
    const target = new URL(service.url).host;
    writeFileSync(
      join(dir, 'prometheus.yml'),
      JSON.stringify({
        global: { scrape_interval: '1s', evaluation_interval: '1s' },
        rule_files: ['alerts.yml'],
        scrape_configs: [{ job_name: 'api', static_configs: [{ targets: [target] }] }],
      }),
    );
    const port = await getPort();
    url = `http://127.0.0.1:${port}`;
    prometheus = spawn(
      'prometheus',
      [
        `--config.file=${dir}/prometheus.yml`,
        `--storage.tsdb.path=${dir}/data`,
        `--web.listen-address=127.0.0.1:${port}`,
      ],
      { stdio: 'ignore' },
    );
  });
  after(async () => {
    const ended = once(prometheus, 'exit');
    prometheus.kill();
    await ended;
    rmSync(dir, { recursive: true });
    await service.close();
  });

  async function query(expression: string): Promise<number | null> {
    const response = await fetch(`${url}/api/v1/query?query=${encodeURIComponent(expression)}`).catch(() => null);
    if (response?.ok !== true) return null;
    const { data } = (await response.json()) as { data: { result: { value: [number, string] }[] } };
    return data.result.length === 0 ? null : Number(data.result[0]!.value[1]);
  }

  it('scrapes everything, the Temporal SDK’s metrics too, and loads every rule', async function () {
    this.timeout(60_000);
    for (let turn = 0; turn < 3; turn += 1) {
      const sessionId = await service.session();
      await service.send(sessionId, 'Hello');
      await service.ended(sessionId);
    }
    const deadline = Date.now() + 30_000;
    while ((await query('sum(turns_ended_total{state="completed"})')) !== 3 && Date.now() < deadline) {
      await new Promise((resolve) => setTimeout(resolve, 250));
    }
    expect(await query('sum(turns_ended_total{state="completed"})')).to.equal(3);
    expect(await query('up{job="api"}')).to.equal(1);
    expect(await query('sum(temporal_workflow_completed_total)')).to.equal(3);
    const response = await fetch(`${url}/api/v1/rules`);
    const { data } = (await response.json()) as { data: { groups: { rules: { health: string }[] }[] } };
    const rules = data.groups.flatMap((group) => group.rules);
    expect(rules).to.have.length(11);
    expect(rules.filter(({ health }) => health === 'err')).to.deep.equal([]);
  });
});
