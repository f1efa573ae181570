import { mochaGlobalSetup, mochaGlobalTeardown } from '../../test/support/services.js';
import { startTurnService, type TurnService, type TurnServiceOptions } from '../../test/support/turns.js';

/** Runs `work` on a service in this process, with its own Postgres, Temporal and scripted model. */
export async function withTurnService(
  options: TurnServiceOptions,
  work: (service: TurnService) => Promise<void>,
): Promise<void> {
  await mochaGlobalSetup();
  try {
    const service = await startTurnService(options);
    try {
      await work(service);
    } finally {
      await service.close();
    }
  } finally {
    await mochaGlobalTeardown();
  }
}

/** Prints one line of figures. */
export const row = (name: string, value: string, aim = ''): void =>
  console.log(`${name.padEnd(52)} ${value.padEnd(36)} ${aim}`);
