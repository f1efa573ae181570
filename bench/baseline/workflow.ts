import { proxyActivities } from '@temporalio/workflow';
import type { bareActivities } from './activities.js';

const { callModel, callTool } = proxyActivities<ReturnType<typeof bareActivities>>({ startToCloseTimeout: '60 s' });

/** A minimal turn: a model call, then a tool call and another model call as long as the model asks for tools. */
export async function bareTurn(sessionId: string, content: string): Promise<void> {
  for (let toolCalls = 0; await callModel(sessionId, content, toolCalls); toolCalls += 1) await callTool();
}
