import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { startMcpServer } from '../../test/support/mcp-server.js';
import { startScriptedModel, type ScriptedModel } from '../../test/support/scripted-model.js';
import { makeStateDir } from '../../test/support/state-dir.js';
import type { Bench } from '../bench.js';
import { cpuOf, cpuOfPostgres } from '../measure.js';
import { startBaseline } from './baseline.js';
import { startLangGraph, startLangGraphServer } from './langgraph.js';
import { startApart, startService } from './service.js';
import type { Side, StartedSide } from './side.js';

export interface Sides {
  /** The scripted model in this process, which answers all sides. */
  model: ScriptedModel;
  baseline: Side;
  /** As `npm start` runs it: API and worker in one process. */
  service: Side;
  /** API and worker in a process of their own, as in production. */
  apart: Side;
  /** In memory, behind a server of the bench (bench/langgraph/main.mjs); null if it is not installed. */
  langgraph: Side | null;
  /** LangGraph's own server for development, in memory; null if it is not installed. */
  langgraphServer: Side | null;
}

/**
 * Starts the sides on the same Temporal and Postgres, which are those of `npm start`.
 * @param profiles a folder for CPU profiles of the service in one process, which slow it down; empty: none
 */
export async function startSides(bench: Bench, profiles = ''): Promise<Sides> {
  const dataDir = makeStateDir();
  const model = await startScriptedModel();
  bench.atEnd(() => model.close().catch(() => undefined));
  const mcp = await startMcpServer({ tools: [{ name: 'ping' }], json: true });
  bench.atEnd(() => mcp.close());
  const sum = (pids: number[], of: (pid: number) => number): number => pids.reduce((all, pid) => all + of(pid), 0);
  const measured = async (started: Promise<StartedSide>): Promise<Side> => {
    const { pids, stop, ...rest } = await started;
    bench.atEnd(stop);
    const [pidOfTemporal, pidOfPostgres] = [pidOf(dataDir, 'temporal'), pidOf(dataDir, 'postgres')];
    return {
      ...rest,
      cpu: () => ({
        service: sum(pids, cpuOf),
        temporal: cpuOf(pidOfTemporal),
        postgres: cpuOfPostgres(pidOfPostgres),
      }),
      memoryKb: () => sum(pids, memoryKbOf),
    };
  };
  const service = await measured(startService(dataDir, model.url, mcp, profiles));
  const baseline = await measured(startBaseline(dataDir, model.url, mcp.url));
  const apart = await measured(startApart(dataDir, mcp));
  const isInstalled = existsSync('bench/langgraph/node_modules/@langchain/langgraph-api');
  const langgraph = isInstalled ? await measured(startLangGraph(model.url)) : null;
  const langgraphServer = isInstalled ? await measured(startLangGraphServer(model.url)) : null;
  return { model, baseline, service, apart, langgraph, langgraphServer };
}

function pidOf(dataDir: string, server: 'temporal' | 'postgres'): number {
  return (JSON.parse(readFileSync(join(dataDir, `${server}.pid`), 'utf8')) as { pid: number }).pid;
}

function memoryKbOf(pid: number): number {
  return Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))![1]);
}
