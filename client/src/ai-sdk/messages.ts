import type { UIMessage, UIMessageChunk } from 'ai';
import type { AgentSessionClient } from '../client.js';
import type { RequestOptions } from '../transport.js';
import { partsOfMessage, TurnChunks } from './chunks.js';

type Parts = UIMessage['parts'];
type Part = Parts[number];

/**
 * The history of a session as messages of the AI SDK, for `useChat({ messages })`: one assistant message for each turn. Of a turn
 * that runs it has what is stored; `resume` shows the rest.
 */
export async function loadMessages(
  client: AgentSessionClient,
  sessionId: string,
  options: RequestOptions = {},
): Promise<UIMessage[]> {
  const messages: UIMessage[] = [];
  let turnId: string | undefined;
  let turn = new TurnChunks();
  let answer: UIMessage | null = null;
  for await (const event of client.eachEvent(sessionId, {}, options)) {
    if (event.turn_id !== turnId) {
      turnId = event.turn_id;
      turn = new TurnChunks();
      answer = { id: turnId, role: 'assistant', parts: [] };
      if (event.type === 'user.message') messages.push({ id: event.id, role: 'user', parts: partsOfMessage(event) });
      messages.push(answer);
    }
    for (const chunk of turn.take(event)) apply(chunk, answer!);
  }
  return messages.filter(({ parts }) => parts.length > 0);
}

/** The chunks that stored events give. */
function apply(chunk: UIMessageChunk, message: UIMessage): void {
  const { parts } = message;
  switch (chunk.type) {
    case 'start-step':
      return void parts.push({ type: 'step-start' });
    case 'text-start':
      return void parts.push({ type: 'text', text: '', state: 'streaming', ...metadataOf(chunk) });
    case 'reasoning-start':
      return void parts.push({ type: 'reasoning', id: chunk.id, text: '', state: 'streaming' });
    case 'text-delta':
    case 'reasoning-delta':
      return change(parts.at(-1)!, ({ text }) => ({ text: `${text as string}${chunk.delta}` }));
    case 'text-end':
    case 'reasoning-end':
      return change(parts.at(-1)!, () => ({ state: 'done' }));
    case 'tool-input-available': {
      const { toolCallId, toolName, input, providerExecuted } = chunk;
      const ran = providerExecuted === undefined ? {} : { providerExecuted };
      return void parts.push({ type: 'dynamic-tool', toolName, toolCallId, state: 'input-available', input, ...ran });
    }
    case 'tool-approval-request':
      return ofCall(parts, chunk, () => ({ state: 'approval-requested', approval: { id: chunk.approvalId } }));
    case 'tool-approval-response': {
      const { approvalId, approved, reason } = chunk;
      const approval = { id: approvalId, approved, ...(reason !== undefined && { reason }) };
      return ofCall(parts, { toolCallId: approvalId }, () => ({ state: 'approval-responded', approval }));
    }
    case 'tool-output-available':
      return ofCall(parts, chunk, ({ preliminary: had }) => ({
        ...{ state: 'output-available', output: chunk.output },
        ...((chunk.preliminary === true || had !== undefined) && { preliminary: chunk.preliminary === true }),
      }));
    case 'tool-output-error':
      return ofCall(parts, chunk, () => ({ state: 'output-error', errorText: chunk.errorText }));
    case 'tool-output-denied':
      return ofCall(parts, chunk, () => ({ state: 'output-denied' }));
    case 'steering-message':
      return void parts.push(chunk);
    case 'finish':
      message.metadata = chunk.messageMetadata;
      return undefined;
    default:
      return isData(chunk) ? data(parts, chunk) : undefined;
  }
}

function metadataOf({ providerMetadata }: Extract<UIMessageChunk, { type: 'text-start' }>): object {
  return providerMetadata === undefined ? {} : { providerMetadata };
}

function isData(chunk: UIMessageChunk): chunk is Extract<UIMessageChunk, { type: `data-${string}` }> {
  return chunk.type.startsWith('data-');
}

function data(parts: Parts, chunk: Extract<UIMessageChunk, { type: `data-${string}` }>): void {
  const same = parts.find((part) => part.type === chunk.type && 'id' in part && part.id === chunk.id);
  if (same === undefined) parts.push(chunk);
  else change(same, () => ({ data: chunk.data }));
}

function ofCall(
  parts: Parts,
  { toolCallId }: { toolCallId: string },
  fields: (part: Record<string, unknown>) => object,
): void {
  const part = parts.find((one) => 'toolCallId' in one && one.toolCallId === toolCallId);
  if (part !== undefined) change(part, fields);
}

function change(part: Part, fields: (part: Record<string, unknown>) => object): void {
  Object.assign(part, fields(part as unknown as Record<string, unknown>));
}
