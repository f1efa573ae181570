import { useState } from 'preact/hooks';
import type { NewMessage } from '../../../client/src/index.js';
import { useAction } from '../client/use-action.js';
import { ErrorNote } from '../parts/error-note.js';
import { Attachments } from './attachments.js';
import { FilePicker } from './file-picker.js';
import { SkillPicker } from './skill-picker.js';
import { useAttachments } from './use-attachments.js';
import { useUnsentText } from './use-unsent-text.js';

interface Props {
  sessionId: string;
  running: boolean;
  onSend: (message: NewMessage) => Promise<void>;
  onCancel: () => Promise<void>;
}

/** The field for the next message, with files and skills; while a turn runs, the button that cancels it. */
export function Composer({ sessionId, running, onSend, onCancel }: Props) {
  const [text, setText] = useUnsentText(sessionId);
  const [skills, setSkills] = useState<string[]>([]);
  const attachments = useAttachments();
  const sending = useAction(async () => {
    await onSend({ content: text, files: attachments.fileIds, skills });
    setText('');
    setSkills([]);
    attachments.clear();
  });
  const cancelling = useAction(onCancel);
  const canSend = !running && !sending.busy && !attachments.uploading && text.trim() !== '';
  const send = (): void => {
    if (canSend) sending.run();
  };

  return (
    <form class="composer" onSubmit={(event) => (event.preventDefault(), send())}>
      <ErrorNote error={sending.error ?? cancelling.error} />
      <Attachments attachments={attachments} />
      <label class="visually-hidden" for="message">
        Message
      </label>
      <textarea
        id="message"
        rows={3}
        value={text}
        placeholder={running ? 'The next message can be sent when this turn has ended' : 'Write a message'}
        onInput={(event) => setText(event.currentTarget.value)}
        onPaste={(event) => attachments.add(event.clipboardData?.files ?? null)}
        onKeyDown={(event) => {
          if (event.key !== 'Enter' || event.shiftKey || event.isComposing) return;
          event.preventDefault();
          send();
        }}
      />
      <div class="actions">
        <label class="button quiet">
          Attach files
          <input
            class="visually-hidden"
            type="file"
            multiple
            onChange={(event) => {
              attachments.add(event.currentTarget.files);
              event.currentTarget.value = '';
            }}
          />
        </label>
        <FilePicker attachments={attachments} />
        <SkillPicker selected={skills} onChange={setSkills} />
        <span class="hint grow">Enter sends, Shift+Enter starts a new line</span>
        {running ? (
          <button type="button" class="danger" disabled={cancelling.busy} onClick={() => cancelling.run()}>
            Cancel turn
          </button>
        ) : (
          <button class="primary" disabled={!canSend}>
            {sending.busy ? 'Sending …' : 'Send'}
          </button>
        )}
      </div>
    </form>
  );
}
