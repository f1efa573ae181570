import { ConfigError, type Config } from '../../src/platform/config.js';
import { loadModels } from '../../src/models/catalogue.js';
import { loadSettings } from '../../src/models/settings.js';
import { runCheck, type Finding } from './check.js';
import { modelCheck } from './models.js';
import { publicUrlCheck } from './oauth.js';
import { postgresChecks } from './postgres.js';
import { sandboxCheck } from './sandbox.js';
import { storageCheck } from './storage.js';
import { temporalChecks } from './temporal.js';
import { workerCheck } from './worker.js';

export async function diagnose(env: NodeJS.ProcessEnv): Promise<Finding[]> {
  let config: Config;
  try {
    config = await loadSettings(env);
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    const remedy = 'Correct the environment of the process (docs/settings.md).';
    return error.problems.map((detail) => ({ part: 'configuration', ok: false, detail, remedy }));
  }
  const models = [...(await loadModels(config)).values()];
  const checks = [
    ...postgresChecks(config),
    ...temporalChecks(),
    workerCheck(config),
    storageCheck(config),
    sandboxCheck(config),
    publicUrlCheck(config),
    ...models.map((entry) => modelCheck(entry, env)),
  ];
  return Promise.all(checks.map(runCheck));
}

export function formatFindings(findings: Finding[]): string {
  const width = Math.max(...findings.map(({ part }) => part.length));
  const lines = findings.flatMap(({ part, ok, detail, remedy }) => [
    `${ok ? 'ok  ' : 'FAIL'}  ${part.padEnd(width)}  ${detail}`,
    ...(remedy === null ? [] : [`      ${' '.repeat(width)}  → ${remedy}`]),
  ]);
  const failed = findings.filter(({ ok }) => !ok).length;
  const verdict = failed === 0 ? 'Everything answers.' : `${failed} of ${findings.length} fail.`;
  return `${[...lines, '', verdict].join('\n')}\n`;
}
