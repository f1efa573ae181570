import { useState } from 'preact/hooks';
import type { ChangedMcpTool } from '../../../client/src/index.js';
import { exactText } from '../../../src/platform/exact-json.js';
import { useClient } from '../client/service.js';
import { useAction } from '../client/use-action.js';
import { ErrorNote } from '../parts/error-note.js';

interface Props {
  serverId: string;
  tool: ChangedMcpTool;
  busy: boolean;
  /** Takes the digest of the version that the person sees. */
  onAccept: (digest: string) => void;
}

export function ChangedTool({ serverId, tool, busy, onAccept }: Props) {
  const client = useClient();
  const [whole, setWhole] = useState<ChangedMcpTool | null>(null);
  const reading = useAction(async () => setWhole(await client.getChangedMcpTool(serverId, tool.name)));
  const isCut = tool.after.input_schema === null || tool.before?.input_schema === null;
  const { name, digest, before, after } = whole ?? tool;
  return (
    <details onToggle={(event) => event.currentTarget.open && isCut && whole === null && reading.run()}>
      <summary>
        <code>{name}</code> {before === null ? 'is new' : 'has changed'}
      </summary>
      <ErrorNote error={reading.error} />
      {before !== null && (
        <>
          <h3>Accepted</h3>
          <pre tabIndex={0}>{describe(before)}</pre>
        </>
      )}
      <h3>Now</h3>
      <pre tabIndex={0}>{describe(after)}</pre>
      <button type="button" disabled={busy || after.input_schema === null} onClick={() => onAccept(digest)}>
        Accept<span class="visually-hidden"> {name}</span>
      </button>
    </details>
  );
}

function describe({ description, input_schema: schema, annotations }: ChangedMcpTool['after']): string {
  const hints = Object.keys(annotations ?? {}).join(', ');
  const shown = schema === null ? 'The input schema is being read …' : exactText(schema, 2);
  return `${description}\n${hints === '' ? '' : `Annotations: ${hints}\n`}${shown}`;
}
