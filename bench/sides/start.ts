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
  /** Null, as each of the others, if it is not wanted. */
  baseline: Side | null;
  /** As `npm start` runs it: API and worker in one process. */
  service: Side | null;
  /** API and worker in a process of their own, as in production. */
  apart: Side | null;
  /** The same with a Postgres that is some milliseconds away; null if no distance is given. */
  away: Side | null;
  /** API and worker of another build; null if none is given. */
  other: Side | null;
  /** In memory, behind a server of the bench (bench/langgraph/main.mjs); null if it is not installed. */
  langgraph: Side | null;
  /** LangGraph's own server for development, in memory; null if it is not installed. */
  langgraphServer: Side | null;
}

interface SideOptions {
  /** A folder for CPU profiles of the service in one process, which slow it down; empty: none. */
  profile: string;
  /** Names of the sides that are wanted, separated by commas; empty: all. */
  sides: string;
  /** Milliseconds to the Postgres of the side `away`, there and back; 0: without this side. */
  away?: number;
  /** The folder of a checkout that is built; empty: without the side `other`. Its Postgres is as far away as that of `away`. */
  other?: string;
}

/** Starts the sides on the same Temporal and Postgres, which are those of `npm start`: of the side `service`, wanted or not. */
export async function startSides(bench: Bench, { profile, sides, away = 0, other = '' }: SideOptions): Promise<Sides> {
  const isWanted = (name: Side['name']): boolean => sides === '' || sides.split(',').includes(name);
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
  const service = await measured(startService(dataDir, model.url, mcp, profile));
  const start = async (name: Side['name'], one: () => Promise<StartedSide>): Promise<Side | null> =>
    isWanted(name) ? measured(one()) : null;
  const isInstalled = existsSync('bench/langgraph/node_modules/@langchain/langgraph-api');
  return {
    model,
    service: isWanted('service') ? service : null,
    baseline: await start('baseline', () => startBaseline(dataDir, model.url, mcp.url)),
    apart: await start('apart', () => startApart('apart', dataDir, mcp)),
    away: away > 0 ? await measured(startApart('away', dataDir, mcp, { away })) : null,
    other: other === '' ? null : await measured(startApart('other', dataDir, mcp, { away, build: other })),
    langgraph: isInstalled ? await start('langgraph', () => startLangGraph(model.url)) : null,
    langgraphServer: isInstalled ? await start('langgraphServer', () => startLangGraphServer(model.url)) : null,
  };
}

function pidOf(dataDir: string, server: 'temporal' | 'postgres'): number {
  return (JSON.parse(readFileSync(join(dataDir, `${server}.pid`), 'utf8')) as { pid: number }).pid;
}

function memoryKbOf(pid: number): number {
  return Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))![1]);
}
