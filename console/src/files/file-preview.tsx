import { useEffect, useState } from 'preact/hooks';
import { useClient } from '../client/service.js';
import { ErrorNote } from '../parts/error-note.js';
import { formatBytes } from '../parts/format.js';
import { Icon } from '../parts/icon.js';

interface Props {
  file: { id: string; filename: string; mime_type: string; size_bytes: number };
}

/** Larger files are downloaded instead. */
const MAX_BYTES = 1_000_000;
/** Characters of a text that are shown. */
const MAX_CHARACTERS = 50_000;
const IMAGES = /^image\/(png|jpeg|gif|webp)$/;
const TEXTS = /^(text\/|application\/(json|xml|yaml|x-yaml|javascript|x-ndjson|sql)$)/;

/** Whether a file can be shown here: a text or a picture, not too large. Never HTML or SVG as such: they stay text. */
export function hasPreview({ mime_type, size_bytes }: Props['file']): boolean {
  return size_bytes <= MAX_BYTES && (IMAGES.test(mime_type) || TEXTS.test(mime_type));
}

export function FilePreview({ file }: Props) {
  const [isOpen, setOpen] = useState(false);
  if (!hasPreview(file)) return null;
  return (
    <>
      <button type="button" class="quiet" aria-expanded={isOpen} onClick={() => setOpen(!isOpen)}>
        {isOpen ? 'Hide' : 'Preview'}
        <span class="visually-hidden"> {file.filename}</span>
      </button>
      {isOpen && <Content file={file} />}
    </>
  );
}

type Read = { kind: 'text'; text: string } | { kind: 'image'; url: string };

function Content({ file }: Props) {
  const client = useClient();
  const [read, setRead] = useState<Read | null>(null);
  const [error, setError] = useState<unknown>(null);
  useEffect(() => {
    const leave = new AbortController();
    let url: string | null = null;
    const load = async (): Promise<void> => {
      const response = await client.downloadFile(file.id, { signal: leave.signal });
      if (!IMAGES.test(file.mime_type)) return setRead({ kind: 'text', text: await response.text() });
      const blob = new Blob([await response.arrayBuffer()], { type: file.mime_type });
      if (leave.signal.aborted) return;
      url = URL.createObjectURL(blob);
      setRead({ kind: 'image', url });
    };
    load().catch((cause: unknown) => {
      if (!leave.signal.aborted) setError(cause);
    });
    return () => {
      leave.abort();
      if (url !== null) URL.revokeObjectURL(url);
    };
  }, [client, file.id]);
  return (
    <div class="row-more preview-box">
      <ErrorNote error={error} />
      {read === null && error === null && (
        <p class="hint">
          <Icon name="running" size={14} /> Reading {formatBytes(file.size_bytes)} …
        </p>
      )}
      {read?.kind === 'image' && <img src={read.url} alt={file.filename} />}
      {read?.kind === 'text' && (
        <>
          <pre tabIndex={0}>{read.text.slice(0, MAX_CHARACTERS)}</pre>
          {read.text.length > MAX_CHARACTERS && <p class="hint">The rest is in the download.</p>}
        </>
      )}
    </div>
  );
}
