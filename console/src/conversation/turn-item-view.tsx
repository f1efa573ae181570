import type { ComponentChildren } from 'preact';
import { isTerminal, type Event, type UserMessageEvent } from '../../../client/src/index.js';
import { Markdown } from '../markdown/markdown.js';
import { CopyText } from '../parts/copy-text.js';
import { Icon } from '../parts/icon.js';
import { memo } from '../parts/memo.js';
import { Time } from '../parts/time.js';
import { FileLine } from './file-line.js';
import { useFork } from './fork-context.js';
import { Receipt } from './receipt.js';
import { ToolCard } from './tool-card.js';
import type { TurnItem } from './turn-items.js';

interface ItemProps {
  item: TurnItem;
  turnId: string;
  /** Changes with what is shown of the item, which is a new object each time. */
  signature: string;
}

export const TurnItemView = memo(
  function TurnItemView({ item, turnId }: ItemProps) {
    return <ItemView item={item} turnId={turnId} />;
  },
  ['item'],
);

function ItemView({ item, turnId }: Omit<ItemProps, 'signature'>) {
  switch (item.kind) {
    case 'thinking':
      return <Thinking content={item.content} streaming={item.streaming} />;
    case 'text':
      return (
        <div class="agent-text" id={`step-${item.key.split('/')[0]}`}>
          <Markdown text={item.content} />
          {item.incomplete && <p class="hint">The message was cut off here.</p>}
          {!item.streaming && (
            <div class="hover-actions">
              <CopyText text={item.content} label="message as Markdown">
                Copy
              </CopyText>
            </div>
          )}
        </div>
      );
    case 'tool':
      return <ToolCard call={item.call} turnId={turnId} />;
    case 'event':
      return <EventView event={item.event} turnId={turnId} />;
  }
}

function EventView({ event, turnId }: { event: Event; turnId: string }) {
  switch (event.type) {
    case 'user.message':
      return <UserMessage event={event} />;
    case 'turn.continued':
      return <Divider>The agent goes on where the last turn stopped</Divider>;
    case 'agent.file':
      return <FileLine file={event.file} note="Delivered by the agent" />;
    case 'agent.mcp_error':
      return (
        <p class="note warning">
          <strong>MCP server {event.name}</strong> {event.message}{' '}
          <a href={`#/mcp-servers/${event.mcp_server_id}`}>Look at the server</a>
        </p>
      );
    case 'agent.context_compacted':
      return <Divider>{event.compacted_turns} older turns were summarised to fit the model’s context</Divider>;
    case 'agent.model_changed':
      return (
        <Divider>
          {event.from} failed ({event.reason}): the turn goes on with {event.to}
        </Divider>
      );
    default:
      return isTerminal(event) ? <Receipt event={event} turnId={turnId} /> : null;
  }
}

function Divider({ children }: { children: ComponentChildren }) {
  return (
    <p class="divider">
      <span>{children}</span>
    </p>
  );
}

interface Props {
  content: string;
  streaming: boolean;
}

/** The model's reasoning, folded away. Its summary keeps one line's height while the text streams. */
function Thinking({ content, streaming }: Props) {
  return (
    <details class="thinking">
      <summary>
        {streaming ? 'Thinking …' : 'Thinking'} <span class="preview">{content.slice(-160)}</span>
      </summary>
      <Markdown text={content} />
    </details>
  );
}

function UserMessage({ event }: { event: UserMessageEvent }) {
  const fork = useFork();
  // A message that steers a turn is not where the turn begins.
  const isFirst = event.delivered_at_step === undefined;
  return (
    <div class="user-message">
      <h2 class="visually-hidden">Message</h2>
      <p class="plain-text">{event.content}</p>
      {event.files.map((file) => (
        <FileLine key={file.id} file={file} />
      ))}
      <div class="facts">
        {event.skills.map(({ id, name }) => (
          <span key={id}>skill {name}</span>
        ))}
        {event.model_id !== undefined && <span>{event.model_id}</span>}
        {event.delivered_at_step !== undefined && <span>steers from model call {event.delivered_at_step}</span>}
        <Time at={event.created_at} />
        {isFirst && (
          <button class="quiet small" onClick={() => fork('edit', event.turn_id)}>
            <Icon name="edit" size={14} /> Edit
          </button>
        )}
      </div>
    </div>
  );
}
