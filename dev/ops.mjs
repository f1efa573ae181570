/** `npm run keys`, `doctor`, `turn`, `top`, `maintenance`, `reencrypt` and `usage`: runs the command of ops, on the embedded parts where the environment names no others. */
import { messageOf } from './progress.mjs';
import { setup } from './setup.mjs';

try {
  const [command, ...args] = process.argv.slice(2);
  if (command === undefined) throw new Error('Name the command of ops that is to run, such as doctor.');
  if (!process.env.DATABASE_URL) await setup({ temporal: false });
  const { runOps } = await import('#dist/dev/ops.js');
  process.exitCode = await runOps(command, args, process.env);
} catch (error) {
  process.stderr.write(`${messageOf(error)}\n`);
  process.exitCode = 1;
}
