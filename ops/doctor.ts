import { runCommand } from './command.js';
import { diagnose, formatFindings } from './doctor/diagnose.js';

/**
 * `npm run doctor`: checks everything that the environment names.
 * @returns the exit code: 1 if a check fails
 */
async function runDoctor(env: NodeJS.ProcessEnv): Promise<number> {
  const findings = await diagnose(env);
  process.stdout.write(formatFindings(findings));
  return findings.every(({ ok }) => ok) ? 0 : 1;
}

await runCommand('Usage: npm run doctor', () => runDoctor(process.env));
