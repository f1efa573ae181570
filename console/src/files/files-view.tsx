import { useState } from 'preact/hooks';
import type { File as StoredFile, FileQuery } from '../../../client/src/index.js';
import { useClient, useService } from '../client/service.js';
import { useList } from '../client/use-list.js';
import { ConfirmButton } from '../parts/confirm-button.js';
import { CopyText } from '../parts/copy-text.js';
import { Empty } from '../parts/empty.js';
import { formatBytes } from '../parts/format.js';
import { ListFrame } from '../parts/list-frame.js';
import { PageHead } from '../parts/page-head.js';
import { Time } from '../parts/time.js';
import { UploadForm } from '../parts/upload-form.js';
import { DownloadButton } from './download-button.js';
import { FilePreview } from './file-preview.js';

export function FilesView() {
  const { client, uploadClient } = useService();
  const [origin, setOrigin] = useState<FileQuery['origin']>();
  const list = useList(
    (cursor, signal) => client.listFiles({ cursor, origin, limit: 50 }, { signal }),
    [client, origin],
  );
  return (
    <>
      <PageHead title="Files">
        <select
          aria-label="Which files"
          onChange={(event) => setOrigin((event.currentTarget.value || undefined) as FileQuery['origin'])}
        >
          <option value="">All files</option>
          <option value="UPLOAD">Uploaded</option>
          <option value="OUTPUT">Delivered by agents</option>
        </select>
      </PageHead>
      <UploadForm
        label="Upload a file"
        hint="At most 100 MiB"
        upload={(file, onProgress) => uploadClient(onProgress).uploadFile({ filename: file.name, content: file })}
        onUploaded={list.reload}
      />
      <ListFrame
        list={list}
        label="Files"
        empty={
          <Empty title="There are no files here">
            Upload one above and attach it to a message. What agents deliver appears here too.
          </Empty>
        }
        row={(file) => <FileRow key={file.id} file={file} onDeleted={list.reload} />}
      />
    </>
  );
}

function FileRow({ file, onDeleted }: { file: StoredFile; onDeleted: () => void }) {
  const client = useClient();
  const remove = async (): Promise<void> => {
    await client.deleteFile(file.id);
    onDeleted();
  };
  return (
    <li class="row">
      <span class="row-title">{file.filename}</span>
      <span class="hint">
        {file.mime_type} · {formatBytes(file.size_bytes)} · {file.origin === 'OUTPUT' ? 'delivered' : 'uploaded'}{' '}
        <Time at={file.created_at} />
        {file.session_id !== null && (
          <>
            {' '}
            in <a href={`#/sessions/${file.session_id}`}>its session</a>
          </>
        )}
      </span>
      <CopyText text={file.id} label={`id of ${file.filename}`} />
      <DownloadButton fileId={file.id} filename={file.filename} />
      <FilePreview file={file} />
      <ConfirmButton label="Delete" subject={file.filename} question={`Delete ${file.filename}?`} onConfirm={remove} />
    </li>
  );
}
