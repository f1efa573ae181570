import { useEffect, useState } from 'preact/hooks';
import { ErrorNote } from '../parts/error-note.js';
import { formatBytes } from '../parts/format.js';
import { Icon } from '../parts/icon.js';

/** Larger files are downloaded instead. */
export const MAX_PREVIEW_BYTES = 1_000_000;
/** Characters of a text that are shown. */
const MAX_CHARACTERS = 50_000;

interface Props {
  name: string;
  sizeBytes: number;
  /** Its type, if it is shown as a picture; null: as a text. */
  image: string | null;
  read: (signal: AbortSignal) => Promise<Response>;
}

type Read = { kind: 'text'; text: string } | { kind: 'image'; url: string };

/** A file's content, read once. With another `key` it is read again. */
export function FileContent({ name, sizeBytes, image, read }: Props) {
  const [content, setContent] = useState<Read | null>(null);
  const [error, setError] = useState<unknown>(null);
  useEffect(() => {
    const leave = new AbortController();
    let url: string | null = null;
    const load = async (): Promise<void> => {
      const response = await read(leave.signal);
      if (image === null) return setContent({ kind: 'text', text: await response.text() });
      const blob = new Blob([await response.arrayBuffer()], { type: image });
      if (leave.signal.aborted) return;
      url = URL.createObjectURL(blob);
      setContent({ kind: 'image', url });
    };
    load().catch((cause: unknown) => {
      if (!leave.signal.aborted) setError(cause);
    });
    return () => {
      leave.abort();
      if (url !== null) URL.revokeObjectURL(url);
    };
  }, []);
  return (
    <div class="row-more preview-box">
      <ErrorNote error={error} />
      {content === null && error === null && (
        <p class="hint">
          <Icon name="running" size={14} /> Reading {formatBytes(sizeBytes)} …
        </p>
      )}
      {content?.kind === 'image' && <img src={content.url} alt={name} />}
      {content?.kind === 'text' && <Text text={content.text} />}
    </div>
  );
}

function Text({ text }: { text: string }) {
  if (text === '') return <p class="hint">The file is empty.</p>;
  if (text.includes('\0')) return <p class="hint">This is no text. It can be downloaded.</p>;
  return (
    <>
      <pre tabIndex={0}>{text.slice(0, MAX_CHARACTERS)}</pre>
      {text.length > MAX_CHARACTERS && <p class="hint">The rest is in the download.</p>}
    </>
  );
}
