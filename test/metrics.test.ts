import { expect } from 'chai';
import { eventually } from './support/eventually.js';
import { TURNS_DUE } from '../src/reconciler/gauges.js';
import { OPEN_TURNS } from '../src/turns/gauges.js';
import { addMetricsSource, metricsText } from '../src/platform/metrics.js';
import { failure, Gate, text, thinking, toolUse, wait } from './support/scripted-model.js';
import { useTurnService } from './support/use.js';

describe('the metrics of turns', () => {
  let atStart = '';
  const service = useTurnService(() => ({ own: 'gauges are read from the newest service of a process' }));
  before(async () => (atStart = await scrape()));

  async function scrape(): Promise<string> {
    return (await service.as(null)('GET', '/metrics')).body as string;
  }

  /** By how much a sample has grown since the service started: other tests of this process count in it too. */
  async function sample(name: string, labels: Record<string, string> = {}): Promise<number | undefined> {
    const now = valueIn(await scrape(), name, labels);
    return now === undefined ? undefined : now - (valueIn(atStart, name, labels) ?? 0);
  }

  /** The sum over the other labels: earlier tests of this process may have counted under labels of their own. */
  function valueIn(text: string, name: string, labels: Record<string, string>): number | undefined {
    const lines = text
      .split('\n')
      .filter(
        (one) =>
          new RegExp(`^${name}[{ ]`).test(one) && Object.entries(labels).every(([k, v]) => one.includes(`${k}="${v}"`)),
      );
    if (lines.length === 0) return undefined;
    return lines.reduce((sum, line) => sum + Number(line.split(' ').at(-1)), 0);
  }

  it('the metrics of turns count open turns without reading those that have ended', async () => {
    const plan = await service.db.transaction(async (tx) => {
      await tx.query('SET LOCAL enable_seqscan = off');
      return tx.query<object[]>(`EXPLAIN ${OPEN_TURNS}`);
    });
    expect(JSON.stringify(plan))
      .to.match(/open_turns_\w+/)
      .and.match(/turns_pkey/);
  });

  it('the metrics of turns count turns, model calls, tools, tokens, retries and lag, and name no project', async () => {
    const { model } = service;
    model.on(
      /Use a tool/,
      [thinking('Which files?'), toolUse('list_files', {})],
      failure('overloaded_error'),
      'Done with it.',
    );
    const sessionId = await service.session();
    const stream = await service.stream(sessionId);
    await service.send(sessionId, 'Use a tool');
    await stream.until(({ event }) => event === 'turn.completed');
    stream.close();

    // Counted right after the commit that the reader has seen.
    await eventually('the count of the turn', async () => {
      return (await sample('turns_ended_total', { state: 'completed', reason: 'end_turn' })) === 1;
    });
    expect(await sample('turn_queue_seconds_count')).to.equal(1);
    expect(await sample('turn_between_steps_seconds_count')).to.equal(1);
    expect(await sample('turn_first_token_seconds_count')).to.equal(1);
    expect(await sample('turn_duration_seconds_count', { state: 'completed' })).to.equal(1);
    expect(await sample('model_call_duration_seconds_count', { model: 'scripted', outcome: 'ok' })).to.equal(2);
    expect(await sample('model_call_duration_seconds_count', { outcome: 'model_overloaded' })).to.equal(1);
    expect(await sample('model_retries_total', { model: 'scripted', type: 'model_overloaded' })).to.equal(1);
    // The model counts a prompt as cached or not by its length.
    const kinds = ['input', 'cache_creation_input', 'cache_read_input'];
    const inputs = await Promise.all(kinds.map((kind) => sample('model_tokens_total', { kind })));
    expect(inputs.reduce<number>((sum, tokens) => sum + (tokens ?? 0), 0)).to.be.greaterThan(0);
    expect(await sample('model_tokens_total', { kind: 'output' })).to.be.greaterThan(0);
    expect(await sample('tool_call_duration_seconds_count', { kind: 'built-in', outcome: 'ok' })).to.equal(1);
    expect(await sample('event_stream_lag_seconds_count', { kind: 'event' })).to.be.greaterThan(0);
    expect(await sample('event_stream_lag_seconds_count', { kind: 'delta' })).to.be.greaterThan(0);
    const { body } = await service.as(null)('GET', '/metrics');
    expect(body.split('\n').filter((line: string) => /proj_|sess_|ses_0|turn_0/.test(line))).to.deep.equal([]);
  });

  /** How many turns are due when all open ones have made no progress for that long. */
  async function turnsDueAfter(time: string): Promise<number> {
    const runner = service.db.createQueryRunner();
    await runner.startTransaction();
    try {
      await runner.query('UPDATE turns SET progress_at = statement_timestamp() - $1::interval WHERE ended_at IS NULL', [
        time,
      ]);
      await runner.query('UPDATE open_turns SET checked_at = NULL');
      const [row] = (await runner.query(TURNS_DUE)) as [{ value: number }];
      return row.value;
    } finally {
      await runner.rollbackTransaction();
      await runner.release();
    }
  }

  it('the metrics of turns measure how long a cancel took, and how many turns are open', async () => {
    const gate = new Gate();
    service.model.on(/Wait here/, text('never mind', { before: { 0: wait(gate) } }));
    const sessionId = await service.session();
    await service.send(sessionId, 'Wait here');
    await gate.reached;
    expect(await sample('turns_open', { state: 'running' })).to.equal(1);
    expect(await sample('turns_open', { state: 'queued' })).to.equal(0);
    expect(await sample('turns_oldest_running_seconds')).to.be.greaterThan(0);
    expect(await turnsDueAfter('2 seconds'), 'not yet without a sign of life').to.equal(0);
    expect(await turnsDueAfter('6 seconds')).to.equal(1);
    await service.api('POST', `/v1/sessions/${sessionId}/cancel`);
    await service.ended(sessionId);
    await eventually('the count of the turn', async () => {
      return (await sample('turns_ended_total', { state: 'cancelled' })) === 1;
    });
    expect(await sample('turn_cancel_delay_seconds_count')).to.equal(1);
    expect(await sample('turns_open', { state: 'running' })).to.equal(0);
  });

  it('the metrics of turns hold the Temporal SDK’s own', async () => {
    const text = await scrape();
    expect(valueIn(text, 'temporal_workflow_completed_total', {})).to.be.greaterThan(0);
    for (const worker_type of ['WorkflowWorker', 'ActivityWorker']) {
      expect(valueIn(text, 'temporal_worker_task_slots_available', { worker_type })).to.be.greaterThan(0);
      expect(valueIn(text, 'temporal_worker_task_slots_used', { worker_type })).to.be.at.least(0);
    }
    expect(valueIn(text, 'temporal_workflow_task_queue_poll_succeed_total', {})).to.be.greaterThan(0);
    expect(valueIn(text, 'temporal_request_total', {})).to.be.greaterThan(0);
  });

  it('the metrics of turns measure saturation, in the process that leads', async () => {
    const text = await scrape();
    for (const type of ['workflow', 'activity']) {
      expect(valueIn(text, 'task_queue_backlog_tasks', { type })).to.equal(0);
      expect(valueIn(text, 'task_queue_backlog_age_seconds', { type })).to.equal(0);
    }
    expect(valueIn(text, 'delta_partitions', {})).to.be.at.least(4);
    expect(valueIn(text, 'turns_due', {})).to.equal(0);
    expect(valueIn(text, 'turns_oldest_running_seconds', {})).to.equal(0);
    expect(valueIn(text, 'db_pool_connections', { state: 'waiting' })).to.be.at.least(0);
    expect(valueIn(text, 'notification_delay_seconds_count', {})).to.be.greaterThan(0);
    expect(valueIn(text, 'postgres_transaction_id_age', {})).to.be.greaterThan(0);
    expect(valueIn(text, 'postgres_notification_queue_ratio', {})).to.be.within(0, 1);
    expect(valueIn(text, 'postgres_replication_lag_seconds', {})).to.equal(undefined);
    expect(valueIn(text, 'postgres_standbys', {}), 'a standby that is gone is a zero').to.equal(0);
    expect(valueIn(text, 'postgres_connections_ratio', {})).to.be.within(0.001, 1);
    expect(valueIn(text, 'postgres_database_bytes', {})).to.be.greaterThan(1e6);
    expect(valueIn(text, 'postgres_wal_archive_failing', {}), 'nothing is archived here').to.equal(undefined);
    expect(valueIn(text, 'workflow_calls_total', { outcome: 'ok' })).to.be.greaterThan(0);
  });

  it('the metrics of turns leave out a source that does not answer', async () => {
    addMetricsSource(() => Promise.reject(new Error('away')));
    expect(await metricsText()).to.contain('turns_ended_total');
  });
});
