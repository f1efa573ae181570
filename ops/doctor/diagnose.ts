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
import { workflowTasksCheck } from './workflow-tasks.js';

/** @param onFinding is given each finding when it is known, and the width of the longest name of a part */
export async function diagnose(
  env: NodeJS.ProcessEnv,
  onFinding: (finding: Finding, width: number) => void = () => undefined,
): Promise<Finding[]> {
  let config: Config;
  try {
    config = await loadSettings(env);
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    const remedy = 'Correct the environment of the process (docs/settings.md).';
    const findings = error.problems.map((detail) => ({ part: 'configuration', ok: false, detail, remedy }));
    for (const finding of findings) onFinding(finding, finding.part.length);
    return findings;
  }
  const models = [...(await loadModels(config)).values()];
  const checks = [
    ...postgresChecks(config),
    ...temporalChecks(),
    workflowTasksCheck(config),
    workerCheck(config),
    storageCheck(config),
    sandboxCheck(config),
    publicUrlCheck(config),
    ...models.map((entry) => modelCheck(entry, env)),
  ];
  const width = widthOf(checks);
  return Promise.all(
    checks.map(async (check) => {
      const finding = await runCheck(check);
      onFinding(finding, width);
      return finding;
    }),
  );
}

export function formatFindings(findings: Finding[]): string {
  const rows = findings.map((finding) => formatFinding(finding, widthOf(findings)));
  return `${rows.join('')}${formatVerdict(findings)}`;
}

export function formatFinding({ part, ok, detail, remedy }: Finding, width: number): string {
  const row = `${ok ? 'ok  ' : 'FAIL'}  ${part.padEnd(width)}  ${detail}\n`;
  return remedy === null ? row : `${row}      ${' '.repeat(width)}  → ${remedy}\n`;
}

export function formatVerdict(findings: Finding[]): string {
  const failed = findings.filter(({ ok }) => !ok).length;
  const verdict = failed === 0 ? 'Everything answers.' : `${failed} of ${findings.length} fail.`;
  return `\n${verdict}\n`;
}

function widthOf(parts: { part: string }[]): number {
  return Math.max(...parts.map(({ part }) => part.length));
}
