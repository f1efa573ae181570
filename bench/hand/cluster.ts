import { expect } from 'chai';
import { execFile, spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { copyFileSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { freePort } from '../../src/platform/free-port.js';
import { AgentSessionClient, type RunResult } from '../../client/src/index.js';
import { startFaultSystem, type FaultSystem } from '../../test/support/fault-system.js';
import { startOtlpReceiver, type OtlpReceiver } from '../../test/support/otlp-receiver.js';
import { startRoundRobin, type RoundRobin } from '../../test/support/round-robin.js';
import { steps, text, toolUse } from '../../test/support/scripted-model.js';

const DOCTOR = fileURLToPath(new URL('../../dist/ops/doctor.js', import.meta.url));
const TURNS = 24;
const AT_ONCE = 6;

/**
 * `npm run check -- cluster`, run by hand: it needs a Prometheus (Debian has one). Two API and two worker processes behind a
 * load balancer, as in production, with the alert rules of deploy/prometheus.
 */
describe('two API and two worker processes', function () {
  this.timeout(180_000);
  let system: FaultSystem;
  let balancer: RoundRobin;
  let receiver: OtlpReceiver;
  let client: AgentSessionClient;
  let dir: string;
  let prometheus: ChildProcess;
  let prometheusUrl: string;

  before(async () => {
    receiver = await startOtlpReceiver();
    system = await startFaultSystem({
      apis: 2,
      workers: 2,
      env: { OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url, LOG_LEVEL: 'info' },
    });
    balancer = await startRoundRobin(system.apis.map(({ url }) => url));
    client = new AgentSessionClient({ baseUrl: balancer.url, apiKey: system.key });
    system.mcp.options.tools = [{ name: 'buy' }];
    const words = Array.from({ length: 25 }, (_, word) => `word-${word}`).join(' ');
    const said = text(words, { every: 40 });
    system.model.on(/^buy/, steps([said, toolUse('mcp__shop__buy', {})], said));

    dir = mkdtempSync(join(tmpdir(), 'prometheus-'));
    copyFileSync(new URL('../../deploy/prometheus/alerts.yml', import.meta.url), join(dir, 'alerts.yml'));
    const job = (job_name: string, processes: { url: string }[]): object => ({
      job_name,
      static_configs: [{ targets: processes.map(({ url }) => new URL(url).host) }],
    });
    const config = {
      global: { scrape_interval: '1s', evaluation_interval: '1s' },
      rule_files: ['alerts.yml'],
      scrape_configs: [job('api', system.apis), job('worker', system.workers)],
    };
    writeFileSync(join(dir, 'prometheus.yml'), JSON.stringify(config));
    const port = await freePort();
    prometheusUrl = `http://127.0.0.1:${port}`;
    const options = [`--config.file=${dir}/prometheus.yml`, `--storage.tsdb.path=${dir}/data`];
    prometheus = spawn('prometheus', [...options, `--web.listen-address=127.0.0.1:${port}`], { stdio: 'ignore' });
  });
  after(async () => {
    const ended = once(prometheus, 'exit');
    prometheus.kill();
    await ended;
    rmSync(dir, { recursive: true });
    await balancer.close();
    await system.close();
    await receiver.close();
  });

  /** Runs turns through the load balancer, some at a time, with the client that users have. */
  async function load(count: number): Promise<RunResult[]> {
    const { id } = (await client.listMcpServers()).items[0]!;
    const results: RunResult[] = [];
    let left = count;
    const one = async (): Promise<void> => {
      while (left-- > 0) {
        const session = await client.createSession({ model_id: 'scripted', mcp_servers: [id] });
        results.push(await client.run(session.id, { content: 'buy' }));
      }
    };
    await Promise.all(Array.from({ length: AT_ONCE }, one));
    return results;
  }

  async function query(expression: string): Promise<number | null> {
    const response = await fetch(`${prometheusUrl}/api/v1/query?query=${encodeURIComponent(expression)}`);
    const { data } = (await response.json()) as { data: { result: { value: [number, string] }[] } };
    return data.result.length === 0 ? null : Number(data.result[0]!.value[1]);
  }

  async function becomes(expression: string, wanted: number): Promise<void> {
    const deadline = performance.now() + 60_000;
    let value: number | null = null;
    while (value !== wanted && performance.now() < deadline) {
      await new Promise((resolve) => setTimeout(resolve, 250));
      value = await query(expression).catch(() => null);
    }
    expect(value, expression).to.equal(wanted);
  }

  it('two API and two worker processes pass every check of doctor', async () => {
    const { stdout } = await promisify(execFile)(process.execPath, [DOCTOR], { env: system.apis[0]!.env });
    console.log(stdout.replaceAll(/^/gm, '      '));
    expect(stdout).to.contain('Everything answers.');
  });

  it('two API and two worker processes count each turn once, over all of them', async () => {
    await client.registerMcpServer({ name: 'shop', url: system.mcp.url });
    const results = await load(TURNS);
    expect(results.map(({ status }) => status)).to.deep.equal(results.map(() => 'completed'));
    await becomes('sum(up)', 4);
    await becomes('sum(turns_ended_total{state="completed"})', TURNS);
    await becomes('sum(turn_queue_seconds_count)', TURNS);
    await becomes('sum(model_call_duration_seconds_count{outcome="ok"})', 2 * TURNS);
    await becomes('sum(tool_call_duration_seconds_count)', TURNS);
    await becomes('sum(temporal_workflow_completed_total)', TURNS);
    await becomes('count(turns_ended_total{job="worker",state="completed"} > 0)', 2);
    await becomes('max(turns_open)', 0);
  });

  it('two API and two worker processes have every alert rule evaluated, and none fires', async () => {
    type Rule = { name: string; health: string; state: string };
    const { data } = (await (await fetch(`${prometheusUrl}/api/v1/rules`)).json()) as {
      data: { groups: { rules: Rule[] }[] };
    };
    const rules = data.groups.flatMap((group) => group.rules);
    expect(rules).to.have.length.above(40);
    expect(rules.filter(({ health, state }) => health !== 'ok' || state !== 'inactive')).to.deep.equal([]);
  });

  it('two API and two worker processes lose nothing in a rolling restart under load', async () => {
    const under = load(TURNS);
    for (const each of [system.apis[0]!, system.workers[0]!, system.apis[1]!, system.workers[1]!]) {
      await new Promise((resolve) => setTimeout(resolve, 500));
      expect(await each.stop(), `exit code of the ${each.role}`).to.equal(0);
      await each.start();
    }
    const results = await under;
    expect(results).to.have.length(TURNS);
    expect(results.map(({ status }) => status)).to.deep.equal(results.map(() => 'completed'));
    for (const { events } of results) {
      expect(events.map(({ type }) => type).filter((type) => type !== 'agent.tool_result')).to.deep.equal([
        ...['user.message', 'agent.message', 'agent.tool_use', 'agent.message', 'turn.completed'],
      ]);
    }
    expect(system.mcp.calls.length, 'tool calls').to.be.within(TURNS, 2 * TURNS);
    await becomes('sum(up)', 4);
  });

  it('two API and two worker processes export one trace of a turn over the processes', async () => {
    const [result] = await load(1);
    const [row] = await system.db.query<{ trace: string }[]>('SELECT trace FROM turns WHERE id = $1', [result!.turnId]);
    const traceId = row!.trace.split('-')[1]!;
    // Processes send their spans when they end, at the latest.
    await Promise.all([...system.apis, ...system.workers].map((each) => each.stop()));
    const tree = receiver.tree(traceId);
    console.log(tree.replaceAll(/^/gm, '      '));
    const lines = tree.split('\n');
    expect(lines.filter((line) => !line.startsWith(' '))).to.have.length(1);
    expect(lines[0]).to.contain('POST /v1/sessions/{session_id}/messages');
    for (const part of ['RunWorkflow:turn', 'RunActivity:callModel', 'chat scripted-1', 'tools/call buy']) {
      expect(tree).to.contain(part);
    }
  });
});
