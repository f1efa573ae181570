import { proxyActivities } from '@temporalio/workflow';
import type { bareActivities } from './activities.js';

const { callModel, callTool } = proxyActivities<ReturnType<typeof bareActivities>>({ startToCloseTimeout: '60 s' });

/** The least that a turn can be: a model call, and a tool call and another model call for as long as the model asks. */
export async function bareTurn(sessionId: string, content: string): Promise<void> {
  for (let toolCalls = 0; await callModel(sessionId, content, toolCalls); toolCalls += 1) await callTool();
}
