import { useState } from 'preact/hooks';
import { useAction } from '../client/use-action.js';
import { useAnnounce } from './announcer.js';
import { ErrorNote } from './error-note.js';
import { Progress } from './progress.js';

interface Props {
  label: string;
  hint: string;
  /** Kinds of files the dialog offers, as the `accept` attribute takes them. */
  accept?: string;
  upload: (file: File, onProgress: (share: number) => void) => Promise<unknown>;
  onUploaded: () => void;
}

export function UploadForm({ label, hint, accept, upload, onUploaded }: Props) {
  const [share, setShare] = useState(0);
  const announce = useAnnounce();
  const action = useAction(async (file: File) => {
    setShare(0);
    await upload(file, setShare);
    announce(`${file.name} is uploaded`);
    onUploaded();
  });
  return (
    <div class="upload">
      <label class="button">
        {label}
        <input
          class="visually-hidden"
          type="file"
          accept={accept}
          disabled={action.busy}
          onChange={(event) => {
            const file = event.currentTarget.files?.[0];
            if (file !== undefined) action.run(file);
            event.currentTarget.value = '';
          }}
        />
      </label>
      {action.busy ? <Progress share={share} label={label} /> : <span class="hint">{hint}</span>}
      <ErrorNote error={action.error} />
    </div>
  );
}
