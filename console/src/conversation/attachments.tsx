import { ErrorNote } from '../parts/error-note.js';
import { Progress } from '../parts/progress.js';
import type { AttachmentList } from './use-attachments.js';

export function Attachments({ attachments: { list, remove } }: { attachments: AttachmentList }) {
  if (list.length === 0) return null;
  return (
    <ul class="attachments" aria-label="Attached files">
      {list.map(({ key, filename, progress, fileId, error }) => (
        <li key={key}>
          <span class="file-name">{filename}</span>
          {fileId === null && error === null && <Progress share={progress} label={`Upload of ${filename}`} />}
          <ErrorNote error={error} />
          <button type="button" class="quiet" onClick={() => remove(key)}>
            Remove<span class="visually-hidden"> {filename}</span>
          </button>
        </li>
      ))}
    </ul>
  );
}
