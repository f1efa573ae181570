import { useEffect, useRef, useState } from 'preact/hooks';
import type { AgentSessionClient, NewFork, Session, UserMessageEvent } from '../../../client/src/index.js';
import { useClient } from '../client/service.js';
import { useAction } from '../client/use-action.js';
import { useLoad } from '../client/use-load.js';
import { ErrorNote } from '../parts/error-note.js';
import { SelectField, TextAreaField } from '../parts/fields.js';
import { navigate } from '../route.js';
import type { Turn } from './conversation-log.js';
import type { ForkPurpose } from './fork-context.js';

const TITLES: Record<ForkPurpose, string> = {
  edit: 'Edit this message',
  again: 'Ask again',
  after: 'Fork after this turn',
};

const HINTS: Record<ForkPurpose, string> = {
  edit: 'A new session begins with the turns before this message. This session stays as it is.',
  again: 'A new session begins with the turns before this one, and gets the same message. This session stays as it is.',
  after: 'A new session begins with the turns up to this one. This session stays as it is.',
};

interface Props {
  session: Session;
  turn: Turn;
  purpose: ForkPurpose;
  onClose: () => void;
}

export function ForkDialog({ session, turn, purpose, onClose }: Props) {
  const client = useClient();
  const dialog = useRef<HTMLDialogElement>(null);
  const message = messageOf(turn);
  const [text, setText] = useState(message?.content ?? '');
  const before = (purpose !== 'after' && message?.model_id) || session.model_id;
  const [modelId, setModelId] = useState(before);
  const { value: models } = useLoad((signal) => Array.fromAsync(client.eachModel({}, { signal })), [client]);
  /** The fork that was made: a message that is refused is sent into the same one. */
  const made = useRef<Session | null>(null);
  useEffect(() => dialog.current?.showModal(), []);

  const forking = useAction(async () => {
    const model = modelId === before ? {} : { model_id: modelId };
    made.current ??= await client.forkSession(session.id, { ...pointOf(purpose, turn.id), ...model });
    if (purpose !== 'after') await send(client, made.current.id, message, text, 'model_id' in model);
    dialog.current?.close();
    navigate(`/sessions/${made.current.id}`);
  });
  const options = models?.map(({ id, display_name: name }) => [id, name] as const) ?? [[before, before] as const];
  return (
    <dialog ref={dialog} class="wide" aria-label={TITLES[purpose]} onClose={onClose}>
      <form class="form" onSubmit={(event) => (event.preventDefault(), forking.run())}>
        <h2>{TITLES[purpose]}</h2>
        <p class="hint">{HINTS[purpose]}</p>
        {purpose === 'edit' && <TextAreaField label="Message" rows={6} required value={text} onChange={setText} />}
        <SelectField
          label="Model"
          value={modelId}
          options={options}
          disabled={made.current !== null}
          onChange={setModelId}
        />
        <ErrorNote error={forking.error} />
        {made.current !== null && forking.error !== null && (
          <p>
            <a href={`#/sessions/${made.current.id}`}>Open the fork</a>, which is there without the message.
          </p>
        )}
        <div class="actions">
          <button class="primary" disabled={forking.busy || (purpose === 'edit' && text.trim() === '')}>
            {purpose === 'after' ? 'Fork' : 'Send in a fork'}
          </button>
          <button type="button" onClick={() => dialog.current?.close()}>
            Close
          </button>
        </div>
      </form>
    </dialog>
  );
}

/** The message that began the turn; a turn that continues another one has none. */
export function messageOf(turn: Turn): UserMessageEvent | undefined {
  const [first] = turn.events;
  return first?.type === 'user.message' ? first : undefined;
}

function pointOf(purpose: ForkPurpose, turnId: string): NewFork {
  return purpose === 'after' ? { after_turn_id: turnId } : { before_turn_id: turnId };
}

/** Sends what began the turn into its fork, with everything that the message had. */
async function send(
  client: AgentSessionClient,
  forkId: string,
  message: UserMessageEvent | undefined,
  content: string,
  isOtherModel: boolean,
): Promise<void> {
  if (message === undefined) {
    await client.continueTurn(forkId);
    return;
  }
  const { files, skills, model_id, thinking_enabled, output_schema } = message;
  await client.sendMessage(forkId, {
    content,
    files: files.map(({ id }) => id),
    skills: skills.map(({ id }) => id),
    ...(model_id !== undefined && !isOtherModel && { model_id }),
    ...(thinking_enabled !== undefined && { thinking_enabled }),
    ...(output_schema !== undefined && { output_schema: output_schema as { type: 'object' } }),
  });
}
