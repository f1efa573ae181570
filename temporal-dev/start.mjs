/** `npm start`: sets the checkout up, then runs everything in this process and the servers beside it. */
import { setup } from './setup.mjs';

try {
  await setup();
  const { start } = await import('../dist/temporal-dev/main.js');
  // Everything has ended, or had its time: what still holds the process open must not keep the terminal.
  process.exit(await start(process.env));
} catch (error) {
  process.stderr.write(`${error.message}\n`);
  process.exitCode = 1;
}
