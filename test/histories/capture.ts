/**
 * Captures a history of every path of the turn workflow from real runs: `npx tsx test/histories/capture.ts`. Writes
 * those that are missing; a history that is there is never replaced (docs/operations/workflow-changes.md).
 */
import { existsSync, writeFileSync } from 'node:fs';
import type { Client } from '@temporalio/client';
import { startMcpServer } from '../support/mcp-server.js';
import { failure, message, steps, text, toolUse, wait } from '../support/scripted-model.js';
import { mochaGlobalSetup, mochaGlobalTeardown } from '../support/services.js';
import { startTemporalServer } from '../support/temporal.js';
import { activityCompleted } from '../support/turn-workflow.js';
import { startTurnService } from '../support/turns.js';
import { connectClient, fetchHistory, resetToStart, runIdsOf } from '../support/workflow-history.js';
import { ABANDONED_PATHS } from './abandoned-paths.js';
import { AUTHORIZATION_PATHS } from './authorization-paths.js';
import { endOf, newSession, SECRET, simple, withServer, type Path } from './path.js';
import { SCHEDULE_PATHS } from './schedule-paths.js';
import { TASK_PATHS } from './task-paths.js';
import { WAITING_PATHS } from './waiting-paths.js';
import { WEBHOOK_PATHS } from './webhook-paths.js';

const forever = wait(600_000);

const PATHS: Path[] = [
  {
    name: 'plain',
    play: (scene) => {
      scene.service.model.reply(`Hello ${SECRET}`);
      return simple(scene);
    },
  },
  {
    name: 'tools',
    play: (scene) => {
      const uses = [toolUse('list_files'), toolUse('read_file', { file_id: SECRET }), toolUse('no_such_tool')];
      scene.service.model.script(steps(uses, [text(SECRET), toolUse('list_files')], `Done, ${SECRET}`));
      return simple(scene);
    },
  },
  {
    name: 'pause',
    play: (scene) => {
      scene.service.model.script(steps(message([text(SECRET)], { stopReason: 'pause_turn' }), 'Done.'));
      return simple(scene);
    },
  },
  {
    name: 'many-tools',
    play: (scene) => {
      scene.service.model.script(
        steps(
          Array.from({ length: 20 }, () => toolUse('list_files')),
          'Done.',
        ),
      );
      return simple(scene);
    },
  },
  {
    name: 'workspace',
    options: { config: { sandboxProvider: 'bubblewrap' } },
    play(scene) {
      const { service } = scene;
      const calls = [
        toolUse('bash', { command: `echo ${SECRET} > a` }),
        toolUse('list_files'),
        toolUse('write', { file_path: 'b', content: SECRET }),
        toolUse('bash', { command: 'cat a b' }),
      ];
      service.model.script(steps(calls, 'Done.'));
      return simple(scene, { tools: [{ type: 'workspace' }] });
    },
  },
  {
    name: 'cancel-model',
    async play(scene) {
      const { service } = scene;
      const gate = service.model.gate();
      service.model.reply([text(SECRET, { before: { 0: wait(gate) } })]);
      const sessionId = await newSession(scene);
      await service.send(sessionId, SECRET);
      await gate.reached;
      await service.api('POST', `/v1/sessions/${sessionId}/cancel`);
      return endOf(scene, sessionId, 'turn.cancelled');
    },
  },
  {
    name: 'cancel-tool',
    async play(scene) {
      const { service, mcp } = scene;
      const called = new Promise((resolve) => {
        mcp.options.tools = [{ name: 'buy', run: () => new Promise(() => resolve(null)) }];
      });
      service.model.reply(toolUse('mcp__shop__buy', { what: SECRET }));
      const sessionId = await newSession(scene, { mcp_servers: [await withServer(scene)] });
      await service.send(sessionId, SECRET);
      await called;
      await service.api('POST', `/v1/sessions/${sessionId}/cancel`);
      return endOf(scene, sessionId, 'turn.cancelled');
    },
  },
  {
    name: 'cancelled-before-begin',
    options: { workers: 0 },
    async play(scene) {
      const { service } = scene;
      const sessionId = await newSession(scene);
      const turnId = await service.send(sessionId, SECRET);
      await service.api('POST', `/v1/sessions/${sessionId}/cancel`);
      await service.startWorker();
      await scene.client.workflow.result(turnId).catch(() => undefined);
      return turnId;
    },
  },
  {
    name: 'cancelled-first',
    async play(scene) {
      const { service, client } = scene;
      const gate = service.model.gate();
      service.model.reply([text(SECRET), wait(gate)]);
      const sessionId = await newSession(scene);
      const turnId = await service.send(sessionId, SECRET);
      await gate.reached;
      await service.db.query('UPDATE turns SET cancel_requested_at = clock_timestamp() WHERE id = $1', [turnId]);
      gate.open();
      await endOf(scene, sessionId, 'turn.cancelled');
      await activityCompleted(client, turnId);
      await client.workflow.getHandle(turnId).cancel();
      await client.workflow.result(turnId).catch(() => undefined);
      return turnId;
    },
  },
  {
    name: 'failure',
    play: (scene) => {
      scene.service.model.reply(failure('invalid_request_error', { message: SECRET }));
      return simple(scene, {}, 'turn.failed');
    },
  },
  {
    name: 'failure-then-answer',
    play: (scene) => {
      const headers = { 'retry-after-ms': '10' };
      scene.service.model.reply(failure('overloaded_error', { message: SECRET, headers }), SECRET);
      return simple(scene);
    },
  },
  {
    name: 'timeout',
    options: { config: { turnTimeoutSeconds: 3 } },
    play: (scene) => {
      scene.service.model.reply([text(SECRET, { before: { 0: forever } })]);
      return simple(scene, {}, 'turn.failed');
    },
  },
  {
    name: 'max-steps',
    options: { config: { maxSteps: 2 } },
    play: (scene) => {
      scene.service.model.script(() => toolUse('list_files', { note: SECRET }));
      return simple(scene);
    },
  },
  {
    name: 'compaction',
    options: { model: { context_window: 4000, max_output_tokens: 500 }, scripted: { validate: false } },
    async play(scene) {
      const { service } = scene;
      const sessionId = await newSession(scene);
      const long = `${SECRET} ${'words and words '.repeat(300)}`;
      for (let turn = 1; turn <= 3; turn += 1) {
        await service.send(sessionId, long);
        await service.ended(sessionId);
      }
      return endOf(scene, sessionId);
    },
  },
  {
    name: 'mcp',
    async play(scene) {
      const { service, mcp } = scene;
      mcp.options.tools = [{ name: 'buy', run: () => SECRET }];
      service.model.script(steps(toolUse('mcp__shop__buy', { what: SECRET }), 'Done.'));
      return simple(scene, { mcp_servers: [await withServer(scene)] });
    },
  },
  {
    name: 'mcp-absent',
    async play(scene) {
      const id = await withServer(scene);
      await scene.mcp.kill();
      return simple(scene, { mcp_servers: [id] });
    },
  },
  {
    name: 'handed-over',
    options: { workers: 0, config: { shutdownGraceSeconds: 0 } },
    async play(scene) {
      const { service } = scene;
      const gate = service.model.gate();
      service.model.reply([text(SECRET, { before: { 0: wait(gate) } })], 'Second try.');
      const leaving = await service.startWorker();
      const sessionId = await newSession(scene);
      await service.send(sessionId, SECRET);
      await gate.reached;
      await leaving.close();
      await service.startWorker();
      return endOf(scene, sessionId);
    },
  },
  {
    name: 'reset',
    runs: 2,
    async play(scene) {
      const { service, client } = scene;
      const gate = service.model.gate();
      service.model.script(({ step }, index) =>
        step === 0 ? toolUse('list_files') : index === 1 ? [text(SECRET, { before: { 0: wait(gate) } })] : 'Done.',
      );
      const sessionId = await newSession(scene);
      const turnId = await service.send(sessionId, SECRET);
      await gate.reached;
      await resetToStart(client, turnId);
      return endOf(scene, sessionId);
    },
  },
  {
    name: 'continue-as-new',
    runs: 2,
    play: (scene) => {
      const uses = Array.from({ length: 16 }, () => toolUse('list_files'));
      scene.service.model.script(steps(uses, uses, uses, SECRET));
      return simple(scene);
    },
  },
  ...ABANDONED_PATHS,
  ...WAITING_PATHS,
  ...TASK_PATHS,
  ...WEBHOOK_PATHS,
  ...SCHEDULE_PATHS,
  ...AUTHORIZATION_PATHS,
];

/** Far above what the other paths need, and reached by `continue-as-new`. */
const SUGGEST_NEW_RUN = { 'limit.historyCount.suggestContinueAsNew': 150 };

async function capture(path: Path, client: Client): Promise<void> {
  const file = (run: number): URL =>
    new URL(path.runs === undefined ? `${path.name}.json` : `${path.name}-${run}.json`, import.meta.url);
  if (existsSync(file(1))) return;
  const mcp = await startMcpServer({ tools: [{ name: 'buy' }] });
  const service = await startTurnService({
    ...path.options,
    config: { mcpAllowedHosts: [mcp.host], webhookDeliveries: true, ...path.options?.config },
  });
  try {
    const turnId = await path.play({ service, client, mcp });
    await client.workflow.result(turnId).catch(() => undefined);
    const runs = await runIdsOf(client, turnId, path.runs ?? 1);
    if (runs.length !== (path.runs ?? 1)) throw new Error(`${path.name} made ${runs.length} runs`);
    for (const [index, runId] of runs.entries()) {
      writeFileSync(file(index + 1), JSON.stringify(await fetchHistory(client, turnId, runId), null, 1));
    }
    console.log(`captured ${path.name}: ${runs.length} run(s)`);
  } finally {
    await service.close();
    await mcp.close();
  }
}

const temporal = await startTemporalServer({ persistent: false, dynamicConfig: SUGGEST_NEW_RUN });
process.env.TEST_TEMPORAL_ADDRESS = temporal.address;
await mochaGlobalSetup();
const temporalClient = await connectClient(temporal.address);
try {
  for (const path of PATHS) await capture(path, temporalClient.client);
} finally {
  await temporalClient.close();
  await mochaGlobalTeardown();
  await temporal.stop();
}
