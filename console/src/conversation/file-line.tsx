import { DownloadButton } from '../files/download-button.js';
import { FilePreview } from '../files/file-preview.js';
import { formatBytes } from '../parts/format.js';
import { Icon } from '../parts/icon.js';

interface Props {
  file: { id: string; filename: string; mime_type: string; size_bytes: number };
  note?: string;
}

export function FileLine({ file, note }: Props) {
  const facts = `${file.mime_type} · ${formatBytes(file.size_bytes)}${note === undefined ? '' : ` · ${note}`}`;
  return (
    <div class="file-line">
      <Icon name="file" />
      <span class="file-name" title={file.filename}>
        {file.filename}
      </span>
      <span class="hint" title={facts}>
        {facts}
      </span>
      <DownloadButton fileId={file.id} filename={file.filename} />
      <FilePreview file={file} />
    </div>
  );
}
