import { readFileSync } from 'node:fs';
import { expect } from 'chai';
import { eventually } from '../support/eventually.js';
import { sampleOf } from '../support/metrics.js';
import { startTemporalServer } from '../support/temporal.js';
import { use, useTurnService } from '../support/use.js';

const ALERTS = new URL('../../deploy/prometheus/alerts.yml', import.meta.url);
const REFUSED = 'workflow_calls_total{outcome="RESOURCE_EXHAUSTED"}';
const AT_ONCE = 20;

/** A namespace over its limit of requests, as Temporal Cloud has one. */
describe('Temporal refuses requests', () => {
  const dynamicConfig = { 'frontend.namespaceRPS': 10, 'frontend.namespaceBurstRatio': 1 };
  const temporal = use(
    () => startTemporalServer({ persistent: false, dynamicConfig }),
    (server) => server.stop(),
  );
  const service = useTurnService(() => ({
    temporalAddress: temporal.address,
    config: { rateLimitPerMinute: 0 },
  }));

  const refused = async (): Promise<number> => (await sampleOf(service, REFUSED)) || 0;

  it('the service, while Temporal refuses requests, accepts every message, completes every turn, and counts what was refused as the alert reads it', async () => {
    expect(readFileSync(ALERTS, 'utf8')).to.include(REFUSED);
    const before = await refused();
    const sessions: string[] = [];
    await eventually('Temporal refuses a call', async () => {
      const more = await Promise.all(Array.from({ length: AT_ONCE }, () => service.session()));
      await Promise.all(more.map((id) => service.send(id, 'Hello')));
      sessions.push(...more);
      return (await refused()) > before;
    });
    const ends = await Promise.all(sessions.map((id) => service.ended(id)));
    expect(ends.map(({ type }) => type as string)).to.deep.equal(sessions.map(() => 'turn.completed'));
    expect(service.model.requests.length).to.equal(sessions.length);
  });
});
