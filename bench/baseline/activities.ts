import type Anthropic from '@anthropic-ai/sdk';
import type { Client as McpClient } from '@modelcontextprotocol/sdk/client/index.js';
import type { Pool } from 'pg';
import { CHANNEL } from './channel.js';

export interface BareDeps {
  pool: Pool;
  anthropic: Anthropic;
  mcp: McpClient;
}

/** The activities of a baseline turn, without fencing and without state for a retry. */
export function bareActivities({ pool, anthropic, mcp }: BareDeps) {
  const send = (sessionId: string, event: string, content = ''): Promise<unknown> =>
    pool.query({
      name: 'notify',
      text: `SELECT pg_notify('${CHANNEL}', $1)`,
      values: [`${sessionId} ${event} ${content}`],
    });

  return {
    /** Streams one answer of the model, stores it with one INSERT and sends one NOTIFY. True when it asks for a tool. */
    async callModel(sessionId: string, content: string, toolCalls: number): Promise<boolean> {
      const stream = await anthropic.messages.create({
        model: 'scripted-1',
        max_tokens: 8000,
        stream: true,
        tools: [{ name: 'ping', input_schema: { type: 'object' } }],
        messages: [{ role: 'user', content }, ...Array.from({ length: toolCalls }, (_, call) => exchange(call)).flat()],
      });
      let text = '';
      let asksForTool = false;
      const sent: Promise<unknown>[] = [];
      for await (const event of stream) {
        if (event.type === 'content_block_start') asksForTool ||= event.content_block.type === 'tool_use';
        if (event.type === 'content_block_delta' && event.delta.type === 'text_delta') {
          text += event.delta.text;
          sent.push(send(sessionId, 'agent.message.delta', event.delta.text));
        }
      }
      await Promise.all(sent);
      await pool.query({
        name: 'insert',
        text: 'INSERT INTO bare_steps (session_id, content) VALUES ($1, $2)',
        values: [sessionId, text],
      });
      await send(sessionId, asksForTool ? 'agent.tool_use' : 'turn.completed');
      return asksForTool;
    },

    async callTool(): Promise<void> {
      await mcp.callTool({ name: 'ping', arguments: {} });
    },
  };
}

function exchange(call: number): Anthropic.MessageParam[] {
  const id = `toolu_${call}`;
  return [
    { role: 'assistant', content: [{ type: 'tool_use', id, name: 'ping', input: {} }] },
    { role: 'user', content: [{ type: 'tool_result', tool_use_id: id, content: 'ok' }] },
  ];
}
