import { runCommand } from './command.js';
import { diagnose, formatFindings } from './doctor/diagnose.js';

/** `npm run doctor`: checks everything that the environment names. The exit code is 1 if a check fails. */
await runCommand('Usage: npm run doctor', async () => {
  const findings = await diagnose(process.env);
  process.stdout.write(formatFindings(findings));
  return findings.every(({ ok }) => ok) ? 0 : 1;
});
