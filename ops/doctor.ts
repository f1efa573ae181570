import { runCommand } from './command.js';
import { diagnose, formatFinding, formatVerdict } from './doctor/diagnose.js';

/** `npm run doctor`: checks everything that the environment names. The exit code is 1 if a check fails. */
await runCommand('Usage: npm run doctor', async () => {
  // As they come: on a slow machine the last one may take a minute.
  const findings = await diagnose(process.env, (finding, width) => process.stdout.write(formatFinding(finding, width)));
  process.stdout.write(formatVerdict(findings));
  return findings.every(({ ok }) => ok) ? 0 : 1;
});
// A check that got no answer still waits for one.
process.exit();
