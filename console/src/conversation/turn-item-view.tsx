import { Markdown } from '../markdown/markdown.js';
import { FileLine } from './file-line.js';
import { Receipt } from './receipt.js';
import { Thinking } from './thinking.js';
import { ToolCard } from './tool-card.js';
import type { TurnItem } from './turn-items.js';
import { UserMessage } from './user-message.js';

export function TurnItemView({ item }: { item: TurnItem }) {
  switch (item.kind) {
    case 'user':
      return <UserMessage event={item.event} />;
    case 'continued':
      return (
        <p class="divider">
          <span>The agent goes on where the last turn stopped</span>
        </p>
      );
    case 'thinking':
      return <Thinking content={item.content} streaming={item.streaming} />;
    case 'text':
      return (
        <div class="agent-text">
          <Markdown text={item.content} />
          {item.incomplete && <p class="hint">The message was cut off here.</p>}
        </div>
      );
    case 'tool':
      return <ToolCard call={item.call} />;
    case 'file':
      return <FileLine file={item.event.file} note="Delivered by the agent" />;
    case 'mcp-error':
      return (
        <p class="note warning">
          <strong>MCP server {item.event.name}</strong> {item.event.message}{' '}
          <a href={`#/mcp-servers/${item.event.mcp_server_id}`}>Look at the server</a>
        </p>
      );
    case 'compacted':
      return (
        <p class="divider">
          <span>{item.event.compacted_turns} older turns were summarised to fit the model’s context</span>
        </p>
      );
    case 'model-changed':
      return (
        <p class="divider">
          <span>
            {item.event.from} failed ({item.event.reason}): the turn goes on with {item.event.to}
          </span>
        </p>
      );
    case 'end':
      return <Receipt event={item.event} />;
  }
}
