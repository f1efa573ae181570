import { useRef, useState } from 'preact/hooks';
import type { File as StoredFile } from '../../../client/src/index.js';
import { useService } from '../client/service.js';
import { ErrorNote } from '../parts/error-note.js';
import { Progress } from '../parts/progress.js';

/** A file on its way to the service, or there. */
interface Attachment {
  key: number;
  filename: string;
  /** Bytes sent, 0 to 1. */
  progress: number;
  /** Null until the upload has ended. */
  fileId: string | null;
  error: unknown;
}

export interface AttachmentList {
  list: Attachment[];
  fileIds: string[];
  uploading: boolean;
  add: (files: FileList | null) => void;
  attach: (file: Pick<StoredFile, 'id' | 'filename'>) => void;
  remove: (key: number) => void;
  clear: () => void;
}

/** Files for the next message: those of the project, and new ones, uploaded as soon as they are chosen. */
export function useAttachments(): AttachmentList {
  const { uploadClient } = useService();
  const [list, setList] = useState<Attachment[]>([]);
  const nextKey = useRef(0);
  const change = (key: number, to: Partial<Attachment>): void =>
    setList((before) => before.map((each) => (each.key === key ? { ...each, ...to } : each)));

  const upload = async (file: File): Promise<void> => {
    const key = nextKey.current++;
    setList((before) => [...before, { key, filename: file.name, progress: 0, fileId: null, error: null }]);
    try {
      const client = uploadClient((progress) => change(key, { progress }));
      const { id } = await client.uploadFile({ filename: file.name, content: file });
      change(key, { fileId: id, progress: 1 });
    } catch (error) {
      change(key, { error });
    }
  };

  return {
    list,
    fileIds: list.flatMap(({ fileId }) => fileId ?? []),
    uploading: list.some(({ fileId, error }) => fileId === null && error === null),
    add: (files) => [...(files ?? [])].forEach((file) => void upload(file)),
    attach: ({ id, filename }) => {
      const key = nextKey.current++;
      setList((before) => [...before, { key, filename, progress: 1, fileId: id, error: null }]);
    },
    remove: (key) => setList((before) => before.filter((each) => each.key !== key)),
    clear: () => setList([]),
  };
}

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
