import { expect } from 'chai';
import type { TestService } from './service.js';
import type { TurnService } from './turns.js';
import { connectClient, fetchHistory, textOfHistory } from './workflow-history.js';

/** Expects that no secret stands in a session's events, in any table, in Temporal, or in what the model was sent. */
export async function expectNoSecrets(
  service: TurnService,
  sessionId: string,
  secrets: Iterable<string>,
  { model = service.model } = {},
) {
  const temporal = await connectClient(process.env.TEMPORAL_ADDRESS!);
  const events = await service.history(sessionId);
  const turnIds = [...new Set(events.map(({ turn_id }) => turn_id as string))];
  const histories = await Promise.all(turnIds.map((turnId) => fetchHistory(temporal.client, turnId)));
  await temporal.close();
  for (const [where, content] of Object.entries({
    events: JSON.stringify(events),
    tables: await textOfTables(service),
    temporal: histories.map(textOfHistory).join('\n'),
    model: JSON.stringify(model.requests.map(({ body }) => body)),
  })) {
    expect(content.length, where).to.be.greaterThan(100);
    for (const secret of secrets) expect(content.includes(secret), where).to.equal(false);
  }
}

export async function textOfTables({ db }: Pick<TestService, 'db'>): Promise<string> {
  const tables: { table: string }[] = await db.query(
    `SELECT format('%I', tablename) AS table FROM pg_tables WHERE schemaname = 'public'`,
  );
  return JSON.stringify(await Promise.all(tables.map(({ table }) => db.query(`SELECT * FROM ${table}`))));
}
