import { useRef, useState } from 'preact/hooks';
import type { NewMessage } from '../../../client/src/index.js';
import { useAction } from '../client/use-action.js';
import { ErrorNote } from '../parts/error-note.js';
import { Icon } from '../parts/icon.js';
import { Attachments, useAttachments } from './attachments.js';
import { FilePicker } from './file-picker.js';
import { OutputPicker, outputSchemaOf } from './output-picker.js';
import { SkillPicker } from './skill-picker.js';

type Mode = NonNullable<NewMessage['when_running']>;

const HINTS: Record<Mode, string> = {
  reject: 'Enter sends',
  steer: 'Enter steers this turn',
  queue: 'Enter queues for the next turn',
};

interface Props {
  sessionId: string;
  running: boolean;
  onSend: (message: NewMessage) => Promise<void>;
  onCancel: () => Promise<void>;
}

/**
 * The field for the next message, with files and skills. While a turn runs the message steers it or waits for a turn of its own,
 * and a button cancels the turn.
 */
export function Composer({ sessionId, running, onSend, onCancel }: Props) {
  const [text, setText] = useUnsentText(sessionId);
  const newest = useRef(text);
  newest.current = text;
  const [skills, setSkills] = useState<string[]>([]);
  const [schema, setSchema] = useState('');
  const attachments = useAttachments();
  const sending = useAction(async (mode: Mode) => {
    const output = outputSchemaOf(schema);
    await onSend({ content: text, files: attachments.fileIds, skills, when_running: mode, ...output });
    // What was typed since stays.
    if (newest.current === text) setText('');
    setSkills([]);
    setSchema('');
    attachments.clear();
  });
  const cancelling = useAction(onCancel);
  const canSend = !sending.busy && !attachments.uploading && text.trim() !== '';
  // The open turn has its skills and its output.
  const canSteer = running && skills.length === 0 && schema.trim() === '';
  const mode: Mode = canSteer ? 'steer' : running ? 'queue' : 'reject';
  const send = (chosen = mode): void => {
    if (canSend) sending.run(chosen);
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
        rows={2}
        value={text}
        placeholder={running ? 'Write to the agent while it works' : 'Write a message'}
        onInput={(event) => setText(event.currentTarget.value)}
        onPaste={(event) => attachments.add(event.clipboardData?.files ?? null)}
        onKeyDown={(event) => {
          if (event.key !== 'Enter' || event.shiftKey || event.isComposing) return;
          event.preventDefault();
          send();
        }}
      />
      <div class="actions">
        <label class="button quiet" title="Attach files">
          <Icon name="attach" /> <span class="visually-hidden">Attach files</span>
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
        <OutputPicker json={schema} onChange={setSchema} error={sending.error} />
        <div class="send">
          {running ? (
            <>
              <button
                type="button"
                class="danger quiet"
                aria-label="Cancel turn"
                disabled={cancelling.busy}
                onClick={() => cancelling.run()}
              >
                Cancel
              </button>
              <button type="button" disabled={!canSend} onClick={() => send('queue')}>
                Queue
              </button>
              <button type="button" class="primary" disabled={!canSend || !canSteer} onClick={() => send('steer')}>
                Steer
              </button>
            </>
          ) : (
            <button class="primary" disabled={!canSend}>
              {sending.busy ? 'Sending …' : 'Send'}
            </button>
          )}
        </div>
      </div>
      <p class="hint composer-hint">
        {HINTS[mode]} · <kbd>Shift</kbd> <kbd>Enter</kbd> begins a line
      </p>
    </form>
  );
}

/** The text of a message that is not sent yet. It survives a reload of the page. */
function useUnsentText(sessionId: string): [string, (text: string) => void] {
  const key = `unsent:${sessionId}`;
  const [text, setText] = useState(() => sessionStorage.getItem(key) ?? '');
  const change = (next: string): void => {
    if (next === '') sessionStorage.removeItem(key);
    else sessionStorage.setItem(key, next);
    setText(next);
  };
  return [text, change];
}
