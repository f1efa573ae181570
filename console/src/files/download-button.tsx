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
    const { url } = await client.getDownloadLink(fileId);
    save(url, filename);
  });
  return (
    <>
      <button type="button" class="quiet" disabled={action.busy} onClick={() => action.run()}>
        Download
        <span class="visually-hidden"> {filename}</span>
      </button>
      <ErrorNote error={action.error} />
    </>
  );
}

/** The link answers with an attachment: the browser saves it and stays on the page. */
function save(url: string, filename: string): void {
  const link = document.createElement('a');
  link.href = url;
  link.download = filename;
  link.click();
}
