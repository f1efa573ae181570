/** `npm run keys`, `doctor`, `turn`, `maintenance`, `reencrypt` and `usage`: runs the command of ops, on the embedded parts where the environment names no others. */
import { setup } from './setup.mjs';

try {
  const [command, ...args] = process.argv.slice(2);
  if (!process.env.DATABASE_URL) await setup({ temporal: false });
  const { runOps } = await import('../dist/dev/ops.js');
  process.exitCode = await runOps(command, args, process.env);
} catch (error) {
  process.stderr.write(`${error.message}\n`);
  process.exitCode = 1;
}
