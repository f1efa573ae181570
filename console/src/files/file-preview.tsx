import { useState } from 'preact/hooks';
import { useClient } from '../client/service.js';
import { FileContent, MAX_PREVIEW_BYTES } from './file-content.js';

interface Props {
  file: { id: string; filename: string; mime_type: string; size_bytes: number };
}

const IMAGES = /^image\/(png|jpeg|gif|webp)$/;
const TEXTS = /^(text\/|application\/(json|xml|yaml|x-yaml|javascript|x-ndjson|sql)$)/;

/** Whether a file can be shown here: a text or a picture, not too large. Never HTML or SVG as such: they stay text. */
export function hasPreview({ mime_type, size_bytes }: Props['file']): boolean {
  return size_bytes <= MAX_PREVIEW_BYTES && (IMAGES.test(mime_type) || TEXTS.test(mime_type));
}

export function FilePreview({ file }: Props) {
  const client = useClient();
  const [isOpen, setOpen] = useState(false);
  if (!hasPreview(file)) return null;
  return (
    <>
      <button type="button" class="quiet" aria-expanded={isOpen} onClick={() => setOpen(!isOpen)}>
        {isOpen ? 'Hide' : 'Preview'}
        <span class="visually-hidden"> {file.filename}</span>
      </button>
      {isOpen && (
        <FileContent
          key={file.id}
          name={file.filename}
          sizeBytes={file.size_bytes}
          image={IMAGES.test(file.mime_type) ? file.mime_type : null}
          read={(signal) => client.downloadFile(file.id, { signal })}
        />
      )}
    </>
  );
}
