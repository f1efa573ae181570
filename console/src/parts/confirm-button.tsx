import type { ComponentChildren } from 'preact';
import { useRef } from 'preact/hooks';
import { useAction } from '../client/use-action.js';
import { ErrorNote } from './error-note.js';

interface Props {
  /** On the button; the dialog repeats it. */
  label: string;
  question: string;
  /** What the button belongs to, for a screen reader: `notes.txt`. */
  subject?: string;
  children?: ComponentChildren;
  onConfirm: () => Promise<void>;
}

export function ConfirmButton({ label, question, subject, children, onConfirm }: Props) {
  const dialog = useRef<HTMLDialogElement>(null);
  const action = useAction(async () => {
    await onConfirm();
    dialog.current?.close();
  });
  return (
    <>
      <button type="button" class="danger quiet" onClick={() => dialog.current?.showModal()}>
        {label}
        {subject !== undefined && <span class="visually-hidden"> {subject}</span>}
      </button>
      <dialog ref={dialog} aria-label={question} onClose={action.clear}>
        <p>
          <strong>{question}</strong>
        </p>
        {children}
        <ErrorNote error={action.error} />
        <div class="actions">
          <button type="button" class="danger" disabled={action.busy} onClick={() => action.run()}>
            {label}
          </button>
          <button type="button" onClick={() => dialog.current?.close()}>
            Keep
          </button>
        </div>
      </dialog>
    </>
  );
}
