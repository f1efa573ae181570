import { expect } from 'chai';
import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { Worker } from '@temporalio/worker';
import { installTemporalRuntime } from '../../activities/temporal-runtime.js';
import { createLogger } from '../../src/platform/logger.js';
import { historyOf, textOfHistory, type WorkflowHistory } from '../support/workflow-history.js';

const HERE = new URL('.', import.meta.url);
const BUNDLE = fileURLToPath(new URL('../../dist/workflow-bundle.js', import.meta.url));
const kept = readdirSync(HERE, { recursive: true, encoding: 'utf8' }).filter((name) => name.endsWith('.json'));
const load = (name: string): WorkflowHistory =>
  JSON.parse(readFileSync(new URL(name, HERE), 'utf8')) as WorkflowHistory;

/** Replays histories against the built workflow; returns what the replay of each met. */
async function replay(histories: { workflowId: string; history: WorkflowHistory }[]): Promise<Map<string, string>> {
  const faults = new Map<string, string>();
  const results = Worker.runReplayHistories(
    { workflowBundle: { codePath: BUNDLE } },
    histories.map(({ workflowId, history }) => ({ workflowId, history: historyOf(history) })),
  );
  for await (const { workflowId, error } of results) if (error !== undefined) faults.set(workflowId, error.message);
  return faults;
}

/** Workflow code may change only in ways that running turns bear (docs/operations/workflow-changes.md). */
describe('kept histories', () => {
  before(() => installTemporalRuntime(createLogger('silent', 'test')));

  it('kept histories replay against the workflow as it is built', async () => {
    const faults = await replay(kept.map((name) => ({ workflowId: name, history: load(name) })));
    expect([...faults]).to.deep.equal([]);
  });

  it('kept histories would not replay against a workflow that does something else', async () => {
    const history = load('tools.json');
    const scheduled = history.events.find((event) => event.activityTaskScheduledEventAttributes !== undefined);
    scheduled.activityTaskScheduledEventAttributes.activityType.name = 'sendMail';
    expect([...(await replay([{ workflowId: 'changed', history }])).keys()]).to.deep.equal(['changed']);
  });

  for (const name of kept) {
    it(`${name} carries no content`, () => {
      const text = textOfHistory(load(name));
      expect(text).to.match(/turn_|dlv_|sched_/);
      expect(text).not.to.include('SECRET');
    });
  }
});
