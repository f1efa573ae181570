import { mochaGlobalSetup, mochaGlobalTeardown } from '../../test/support/services.js';
import { startTurnService, type TurnService, type TurnServiceOptions } from '../../test/support/turns.js';

/** Runs `work` on a service in this process, with Postgres, Temporal and a scripted model of its own. */
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

/** One line of figures. */
export const row = (name: string, value: string, aim = ''): void =>
  console.log(`${name.padEnd(52)} ${value.padEnd(36)} ${aim}`);
