import type { TestService } from './service.js';

/** The value of a sample at /metrics, by its name with its labels as they are printed; NaN if there is none. */
export async function sampleOf(service: TestService, sample: string): Promise<number> {
  const lines = ((await service.as(null)('GET', '/metrics')).body as string).split('\n');
  return Number(lines.find((line) => line.startsWith(`${sample} `))?.slice(sample.length));
}
