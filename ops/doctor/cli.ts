import { diagnose, table } from './doctor.js';

/** `doctor` against what the environment names; exit code 1 when a part fails. */
const findings = await diagnose(process.env);
process.stdout.write(table(findings));
process.exit(findings.every(({ ok }) => ok) ? 0 : 1);
