import { formatDuration } from '../parts/format.js';
import type { ToolCall } from './turn-items.js';

interface Props {
  call: ToolCall;
  turnEnded: boolean;
}

/** A tool call: its name and how it went; opened, its input and result. */
export function ToolCard({ call: { use, result }, turnEnded }: Props) {
  const state = result === null ? (turnEnded ? 'no result' : 'running') : result.is_error ? 'error' : 'done';
  return (
    <details class={`tool ${state.replace(' ', '-')}`}>
      <summary>
        <span class="tool-name">{formatName(use.name)}</span>
        <span class="tool-state">{state}</span>
        {result !== null && (
          <span class="hint">{formatDuration(Date.parse(result.created_at) - Date.parse(use.created_at))}</span>
        )}
      </summary>
      <h3>Input</h3>
      <pre tabIndex={0}>{JSON.stringify(use.input, null, 2)}</pre>
      {result !== null && (
        <>
          <h3>{result.is_error ? 'Error' : 'Result'}</h3>
          <pre tabIndex={0}>{result.content}</pre>
          {result.truncated === true && <p class="hint">Only the first 16 KiB are kept here; the agent saw more.</p>}
        </>
      )}
    </details>
  );
}

/** `mcp__github__search` is the tool `search` of the server `github`. */
function formatName(name: string): string {
  const [, server, tool] = /^mcp__(.+?)__(.+)$/s.exec(name) ?? [];
  return tool === undefined ? name : `${server} › ${tool}`;
}
