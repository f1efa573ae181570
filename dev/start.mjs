/** `npm start`: sets the checkout up, then runs the service and its servers in child processes. */
import { messageOf } from './progress.mjs';
import { setup } from './setup.mjs';

try {
  await setup();
  const { start } = await import('#dist/dev/main.js');
  // Everything has stopped or timed out. Exit even if something still keeps the event loop alive.
  process.exit(await start(process.env));
} catch (error) {
  process.stderr.write(`${messageOf(error)}\n`);
  process.exitCode = 1;
}
