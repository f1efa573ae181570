import { useRef, useState, type KeyboardEvent, type ReactNode } from 'react';
import type { AgentSessionClient, File as StoredFile } from '@agent-session-service/client';
import { messageOf } from './parts.js';

interface Attachment {
  key: number;
  name: string;
  /** Null while it is uploaded. */
  file: StoredFile | null;
  error: string | null;
}

interface ComposerProps {
  /** Uploads files; without it the composer has no button for them. */
  client?: AgentSessionClient;
  /** A turn is open: what is sent now waits in the queue. */
  isBusy: boolean;
  onSend: (text: string, files: StoredFile[]) => void;
  onStop?: () => void;
}

export function Composer({ client, isBusy, onSend, onStop }: ComposerProps): ReactNode {
  const [text, setText] = useState('');
  const [attachments, setAttachments] = useState<Attachment[]>([]);
  const keys = useRef(0);
  const picker = useRef<HTMLInputElement>(null);
  const canSend = text.trim() !== '' && attachments.every(({ file }) => file !== null);

  const change = (key: number, fields: Partial<Attachment>): void =>
    setAttachments((all) => all.map((one) => (one.key === key ? { ...one, ...fields } : one)));
  const attach = (file: File): void => {
    const key = (keys.current += 1);
    setAttachments((all) => [...all, { key, name: file.name, file: null, error: null }]);
    client!.uploadFile({ filename: file.name, content: file }).then(
      (stored) => change(key, { file: stored }),
      (error: unknown) => change(key, { error: messageOf(error) }),
    );
  };
  const send = (): void => {
    if (!canSend) return;
    onSend(
      text,
      attachments.flatMap(({ file }) => file ?? []),
    );
    setText('');
    setAttachments([]);
  };
  const onKeyDown = (event: KeyboardEvent): void => {
    if (event.key !== 'Enter' || event.shiftKey || event.nativeEvent.isComposing) return;
    event.preventDefault();
    send();
  };

  return (
    <form
      className="composer"
      onSubmit={(event) => {
        event.preventDefault();
        send();
      }}
    >
      {attachments.length > 0 && (
        <ul className="chips" aria-label="Files">
          {attachments.map(({ key, name, file, error }) => (
            <li key={key} className={error === null ? 'chip' : 'chip bad'}>
              {name}
              {file === null && <span className="soft">{error ?? 'uploading…'}</span>}
              <button
                type="button"
                className="plain"
                aria-label={`Remove ${name}`}
                onClick={() => setAttachments((all) => all.filter((one) => one.key !== key))}
              >
                ×
              </button>
            </li>
          ))}
        </ul>
      )}
      <textarea
        aria-label="Message"
        placeholder={isBusy ? 'Write the next message' : 'Write a message'}
        rows={1}
        maxLength={100_000}
        value={text}
        onChange={({ target }) => setText(target.value)}
        onKeyDown={onKeyDown}
      />
      <div className="row">
        {client !== undefined && (
          <>
            <input
              ref={picker}
              type="file"
              multiple
              hidden
              aria-label="Choose files"
              onChange={({ target }) => {
                for (const file of target.files ?? []) attach(file);
                target.value = '';
              }}
            />
            <button type="button" className="plain" onClick={() => picker.current?.click()}>
              Attach files
            </button>
          </>
        )}
        <span className="grow" />
        {isBusy && onStop !== undefined && (
          <button type="button" onClick={onStop}>
            Stop
          </button>
        )}
        <button type="submit" className="primary" disabled={!canSend}>
          {isBusy ? 'Queue' : 'Send'}
        </button>
      </div>
    </form>
  );
}
