import { useEffect, useState } from 'preact/hooks';
import type { McpToolResult } from '../../../client/src/index.js';
import { CodeBlock } from '../parts/code-block.js';
import { formatDuration } from '../parts/format.js';
import { prettyJson } from '../parts/pretty-json.js';
import { Status } from '../parts/status.js';

type Block = McpToolResult['content'][number];

/** What a tool has answered, as the agent would read it. */
export function ToolAnswer({ result }: { result: McpToolResult }) {
  return (
    <section class="tool-answer" aria-label="Result">
      <p>
        <Status look={result.is_error ? 'failed' : 'complete'}>{result.is_error ? 'Error' : 'Done'}</Status>
        <span class="hint">after {formatDuration(result.duration_ms)}</span>
      </p>
      {result.content.map((block, at) =>
        block.type === 'text' ? (
          <CodeBlock key={at} text={prettyJson(block.text)} label={result.is_error ? 'Error' : 'Text'} />
        ) : (
          <Picture key={at} block={block} />
        ),
      )}
    </section>
  );
}

/** The page's policy allows no data: addresses, so the picture gets one of its own. */
function Picture({ block: { media_type, data } }: { block: Extract<Block, { type: 'image' }> }) {
  const [url, setUrl] = useState<string | null>(null);
  useEffect(() => {
    const bytes = Uint8Array.from(atob(data), (character) => character.charCodeAt(0));
    const made = URL.createObjectURL(new Blob([bytes], { type: media_type }));
    setUrl(made);
    return () => URL.revokeObjectURL(made);
  }, [data]);
  return url === null ? null : <img src={url} alt="Image in the result" />;
}
