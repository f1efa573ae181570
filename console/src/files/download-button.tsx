import { useAction } from '../client/use-action.js';
import { useClient } from '../client/service.js';
import { ErrorNote } from '../parts/error-note.js';

interface Props {
  fileId: string;
  filename: string;
}

export function DownloadButton({ fileId, filename }: Props) {
  const client = useClient();
  const action = useAction(async () => {
    const response = await client.downloadFile(fileId);
    saveAs(await response.blob(), filename);
  });
  return (
    <>
      <button type="button" class="quiet" disabled={action.busy} onClick={() => action.run()}>
        {action.busy ? 'Downloading …' : 'Download'}
        <span class="visually-hidden"> {filename}</span>
      </button>
      <ErrorNote error={action.error} />
    </>
  );
}

function saveAs(content: Blob, filename: string): void {
  const link = document.createElement('a');
  link.href = URL.createObjectURL(content);
  link.download = filename;
  link.click();
  // The browser has taken the content over by then.
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
}
