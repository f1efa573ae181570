import { join } from 'node:path';
import type { Config } from '../src/platform/config.js';
import type { SandboxTrial } from '../activities/sandbox/open.js';
import { formatLimits } from '../src/workspaces/sandbox.js';
import { DATABASE } from './embedded-postgres.js';

export interface BannerFacts {
  config: Config;
  demoKey: string;
  /** Null where the environment names one that runs elsewhere. */
  temporal: { address: string; uiUrl: string | null; cli: string } | null;
  postgresPort: number | null;
  usesLocalModel: boolean;
  dataDir: string;
  /** What `npm start` has found; null: nothing was tried. */
  sandbox: SandboxTrial | null;
}

/** The text `npm start` prints when everything is ready: the addresses, the key, and commands to paste. */
export async function banner({
  config,
  demoKey,
  temporal,
  postgresPort,
  usesLocalModel,
  dataDir,
  sandbox,
}: BannerFacts): Promise<string> {
  const base = config.publicUrl;
  const model = await firstModel(apiAddress(config), demoKey);
  const json = `-H 'Content-Type: application/json'`;
  return [
    '',
    ...(config.console ? [`  Console      ${base}/console/#key=${demoKey}`] : []),
    `  API          ${base}`,
    `  Demo key     ${demoKey}`,
    ...(temporal === null
      ? []
      : [`  Temporal     ${temporal.address} (run by ${temporal.cli})`, `  Temporal UI  ${temporal.uiUrl}`]),
    ...(postgresPort === null
      ? []
      : [
          `  Postgres     postgres://postgres@127.0.0.1:${postgresPort}/${DATABASE} (password in ${join(dataDir, 'postgres.json')})`,
        ]),
    `  Model        ${model}${usesLocalModel ? ' (rules, not an LLM: set ANTHROPIC_API_KEY or MODELS_FILE for a real one)' : ''}`,
    `  Sandbox      ${sandboxLine(config, sandbox)}`,
    `  State        ${dataDir}`,
    '',
    '  Try it in another terminal:',
    '',
    `    AUTH='Authorization: Bearer ${demoKey}'`,
    `    ID=$(curl -s ${base}/v1/sessions -H "$AUTH" ${json} -d '{"model_id": "${model}"}' | sed 's/.*"id":"\\([^"]*\\)".*/\\1/')`,
    `    curl -s ${base}/v1/sessions/$ID/messages -H "$AUTH" ${json} -d '{"content": "Hello! What can you do?"}'; echo`,
    `    curl -N ${base}/v1/sessions/$ID/events/stream -H "$AUTH"`,
    '',
    ...(temporal === null
      ? []
      : [
          '  Its turn in Temporal:',
          '',
          `    TEMPORAL_CONFIG_FILE=${join(dataDir, 'temporal.toml')} ${temporal.cli} workflow list`,
          '',
        ]),
    '  Ctrl-C stops everything; the next start finds it again.',
    '',
  ].join('\n');
}

function sandboxLine({ sandboxProvider }: Config, trial: SandboxTrial | null): string {
  const { problem = null, limits = null } = trial ?? {};
  if (sandboxProvider !== 'off') {
    return `${sandboxProvider} (commands of agents run there${limits === null ? '' : `; ${formatLimits(limits)}`})`;
  }
  return problem === null ? 'off (SANDBOX_PROVIDER)' : `off: ${problem.reason} ${problem.remedy}`;
}

/** Where this machine reaches the API, also if clients reach it elsewhere. */
export function apiAddress({ host, port }: Config): string {
  return `http://${host.includes(':') ? `[${host}]` : host}:${port}`;
}

/** Reads the model over HTTP, which also proves that the printed address and key work. */
async function firstModel(base: string, key: string): Promise<string> {
  const response = await fetch(`${base}/v1/models`, { headers: { Authorization: `Bearer ${key}` } });
  if (!response.ok) throw new Error(`GET /v1/models answered ${response.status}: ${await response.text()}`);
  const { items } = (await response.json()) as { items: { id: string }[] };
  return items[0]!.id;
}
