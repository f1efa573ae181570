import { useAction } from '../client/use-action.js';
import { ErrorNote } from '../parts/error-note.js';
import { saveBlob } from '../parts/save-blob.js';

interface Props {
  label: string;
  /** What is saved, for a screen reader. */
  subject: string;
  filename: string;
  /** The key is in a header of the request, so that a link cannot ask for it. */
  read: () => Promise<Response>;
}

/** Reads a content and lets the browser save it. An agent wrote it: its type never makes the browser show it. */
export function SaveButton({ label, subject, filename, read }: Props) {
  const saving = useAction(async () => {
    const content = await (await read()).blob();
    saveBlob(filename, content.slice(0, content.size, 'application/octet-stream'));
  });
  return (
    <>
      <button type="button" disabled={saving.busy} onClick={() => saving.run()}>
        {saving.busy ? 'Reading …' : label}
        <span class="visually-hidden"> {subject}</span>
      </button>
      <ErrorNote error={saving.error} />
    </>
  );
}
