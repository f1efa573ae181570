import { Client, Connection, type TLSConfig } from '@temporalio/client';
import { eventually } from './eventually.js';
import proto from '@temporalio/proto';

const { History } = proto.temporal.api.history.v1;

/** A history as JSON. */
export interface WorkflowHistory {
  // oxlint-disable-next-line typescript/no-explicit-any -- the protocol's own form
  events: any[];
}

/** A client of its own on the Temporal server at `address`. */
export async function connectClient(
  address: string,
  tls?: TLSConfig,
): Promise<{ client: Client; close: () => Promise<void> }> {
  const connection = await Connection.connect({ address, ...(tls && { tls }) });
  return { client: new Client({ connection }), close: () => connection.close() };
}

/** The history of a run; the latest one's without `runId`. */
export async function fetchHistory(client: Client, workflowId: string, runId?: string): Promise<WorkflowHistory> {
  const history = await client.workflow.getHandle(workflowId, runId).fetchHistory();
  return History.toObject(History.fromObject(history), {
    enums: String,
    longs: String,
    bytes: String,
  }) as WorkflowHistory;
}

/** As the replayer takes it. The SDK's own `historyFromJSON` fails: it loads a second copy of protobufjs. */
export function historyOf(json: WorkflowHistory): proto.temporal.api.history.v1.History {
  return History.fromObject(json);
}

/** Every run of a workflow, oldest first: a reset and a continue-as-new make further ones. */
export async function runIdsOf(client: Client, workflowId: string, expected: number): Promise<string[]> {
  let runs: { runId: string; startTime: Date }[] = [];
  // Visibility follows a moment later.
  await eventually(`Temporal lists ${expected} runs of ${workflowId}`, async () => {
    runs = [];
    for await (const run of client.workflow.list({ query: `WorkflowId = '${workflowId}'` })) runs.push(run);
    return runs.length >= expected;
  });
  return runs.sort((a, b) => +a.startTime - +b.startTime).map(({ runId }) => runId);
}

/** Resets a running workflow to the end of its first workflow task, as the UI does. */
export async function resetToStart(client: Client, workflowId: string): Promise<void> {
  const { events } = await client.workflow.getHandle(workflowId).fetchHistory();
  const { EVENT_TYPE_WORKFLOW_TASK_COMPLETED } = proto.temporal.api.enums.v1.EventType;
  const first = events!.find(({ eventType }) => eventType === EVENT_TYPE_WORKFLOW_TASK_COMPLETED)!;
  await client.workflowService.resetWorkflowExecution({
    namespace: 'default',
    workflowExecution: { workflowId },
    reason: 'test',
    requestId: crypto.randomUUID(),
    workflowTaskFinishEventId: first.eventId,
  });
}

/** Everything that a history carries, in readable form: its JSON and what stands encoded in it. */
export function textOfHistory(history: WorkflowHistory): string {
  const texts = [JSON.stringify(history)];
  JSON.stringify(history, (_key, value: unknown) => {
    if (typeof value === 'string' && /^[A-Za-z0-9+/]{4,}={0,2}$/.test(value)) {
      texts.push(Buffer.from(value, 'base64').toString());
    }
    return value;
  });
  return texts.join('\n');
}
