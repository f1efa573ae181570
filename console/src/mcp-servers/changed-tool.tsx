import type { McpServer } from '../../../client/src/index.js';

type Changed = McpServer['changed_tools'][number];

interface Props {
  tool: Changed;
  busy: boolean;
  onAccept: () => void;
}

/** A tool as it was accepted, and as the server describes it now. */
export function ChangedTool({ tool: { name, before, after }, busy, onAccept }: Props) {
  return (
    <details>
      <summary>
        <code>{name}</code> {before === null ? 'is new' : 'has changed'}
      </summary>
      {before !== null && (
        <>
          <h3>Accepted</h3>
          <pre tabIndex={0}>{describe(before)}</pre>
        </>
      )}
      <h3>Now</h3>
      <pre tabIndex={0}>{describe(after)}</pre>
      <button type="button" disabled={busy} onClick={onAccept}>
        Accept<span class="visually-hidden"> {name}</span>
      </button>
    </details>
  );
}

function describe({ description, input_schema: schema }: Changed['after']): string {
  return `${description}\n${schema === null ? 'The input schema is too large to show.' : JSON.stringify(schema, null, 2)}`;
}
