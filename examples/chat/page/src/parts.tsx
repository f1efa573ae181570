import { useState, type ReactNode, type SubmitEvent } from 'react';

/** The views that both pages share. They know neither of the two protocols. */
export type CallState = 'running' | 'asks' | 'done' | 'failed' | 'denied';

const STATES: Record<CallState, string> = {
  running: 'Running',
  asks: 'Waits for you',
  done: 'Done',
  failed: 'Failed',
  denied: 'Denied',
};

interface CallProps {
  name: string;
  input: unknown;
  output?: unknown;
  state: CallState;
  children?: ReactNode;
}

export function Call({ name, input, output, state, children }: CallProps): ReactNode {
  const [, server, tool = name] = /^mcp__(.+?)__(.+)$/.exec(name) ?? [];
  return (
    <section className={`card call ${state}`} aria-label={`${tool}: ${STATES[state]}`}>
      <details>
        <summary>
          <span className="tool">{tool}</span>
          {server !== undefined && <span className="soft">{server}</span>}
          <span className={`state ${state}`}>{STATES[state]}</span>
        </summary>
        <Json label="Input" value={input} />
        {output !== undefined && <Json label="Result" value={output} />}
      </details>
      {children}
    </section>
  );
}

export function Json({ label, value }: { label: string; value: unknown }): ReactNode {
  return (
    <figure className="json">
      <figcaption>{label}</figcaption>
      <pre tabIndex={0}>{typeof value === 'string' ? value : JSON.stringify(value, null, 2)}</pre>
    </figure>
  );
}

export function Thinking({ text, isOpen }: { text: string; isOpen: boolean }): ReactNode {
  return (
    <details className="thinking" open={isOpen}>
      <summary>{isOpen ? 'Thinking…' : 'Thought'}</summary>
      <p>{text}</p>
    </details>
  );
}

export interface Decision {
  approved: boolean;
  /** Of a denial. */
  reason?: string;
  /** What the call runs with, if it is not what the agent wrote. */
  input?: Record<string, unknown>;
  /** Later calls of the tool are not asked. */
  remember?: 'session';
}

/** What the service says about a call that asks. */
interface About {
  title?: string | null;
  annotations?: { read_only: boolean | null; destructive: boolean | null };
}

interface ApprovalProps {
  input: unknown;
  about: object | undefined;
  onAnswer: (decision: Decision) => void;
}

/** A person allows a call, also with another input or for the rest of the chat, or denies it with a reason that the agent reads. */
export function Approval({ input, about = {}, onAnswer }: ApprovalProps): ReactNode {
  const given = (input ?? {}) as Record<string, unknown>;
  const { title = null, annotations } = about as About;
  const [isDenying, setDenying] = useState(false);
  const [reason, setReason] = useState('');
  const [values, setValues] = useState(given);
  const [remembers, setRemembers] = useState(false);
  const isChanged = JSON.stringify(values) !== JSON.stringify(given);
  const deny = (event: SubmitEvent): void => {
    event.preventDefault();
    onAnswer({ approved: false, ...(reason.trim() !== '' && { reason: reason.trim() }) });
  };
  const allow = (event: SubmitEvent): void => {
    event.preventDefault();
    onAnswer({
      approved: true,
      ...(isChanged && { input: values }),
      ...(remembers && !isChanged && { remember: 'session' }),
    });
  };
  if (isDenying) {
    return (
      <form onSubmit={deny} className="ask row">
        <input
          aria-label="Reason"
          placeholder="Why not? (optional)"
          maxLength={1000}
          value={reason}
          onChange={({ target }) => setReason(target.value)}
          autoFocus
        />
        <button type="submit" className="danger">
          Deny
        </button>
        <button type="button" onClick={() => setDenying(false)}>
          Back
        </button>
      </form>
    );
  }
  return (
    <form onSubmit={allow} className="ask">
      <p>
        {title ?? 'The agent wants to do this'}
        {annotations?.read_only === true && <span className="chip">changes nothing</span>}
        {annotations?.destructive === true && <span className="chip bad">cannot be taken back</span>}
      </p>
      {Object.entries(values).map(([name, value]) => (
        <InputField
          key={name}
          name={name}
          value={value}
          onChange={(next) => setValues((all) => ({ ...all, [name]: next }))}
        />
      ))}
      <label className="row">
        <input
          type="checkbox"
          disabled={isChanged}
          checked={remembers && !isChanged}
          onChange={({ target }) => setRemembers(target.checked)}
        />
        Do not ask again in this chat
      </label>
      <div className="row">
        <button type="submit" className="primary">
          Allow
        </button>
        <button type="button" onClick={() => setDenying(true)}>
          Deny…
        </button>
      </div>
    </form>
  );
}

/** Texts, numbers and flags can be changed; the page knows no schema of the tool, and the service checks the input by it. */
function InputField({
  name,
  value,
  onChange,
}: {
  name: string;
  value: unknown;
  onChange: (value: unknown) => void;
}): ReactNode {
  if (typeof value === 'boolean') {
    return (
      <label className="row">
        <input type="checkbox" checked={value} onChange={({ target }) => onChange(target.checked)} />
        {name}
      </label>
    );
  }
  if (typeof value === 'number') {
    return (
      <label>
        {name}
        <input
          type="number"
          step="any"
          required
          value={Number.isNaN(value) ? '' : value}
          onChange={({ target }) => onChange(target.valueAsNumber)}
        />
      </label>
    );
  }
  if (typeof value === 'string') {
    return (
      <label>
        {name}
        <input value={value} onChange={({ target }) => onChange(target.value)} />
      </label>
    );
  }
  return <Json label={name} value={value} />;
}

interface RememberedProps {
  approvals: { name: string; tool_use_id: string }[];
  onForget: (callId: string) => void;
}

/** What a person has allowed for the rest of the chat. */
export function Remembered({ approvals, onForget }: RememberedProps): ReactNode {
  if (approvals.length === 0) return null;
  return (
    <section className="queue" aria-label="Allowed without asking">
      <ul>
        {approvals.map(({ name, tool_use_id: callId }) => {
          const tool = name.replace(/^mcp__.+?__/, '');
          return (
            <li key={callId}>
              <span className="clip grow">{tool} is not asked for</span>
              <button
                type="button"
                className="plain"
                aria-label={`Ask for ${tool} again`}
                onClick={() => onForget(callId)}
              >
                ×
              </button>
            </li>
          );
        })}
      </ul>
    </section>
  );
}

/** The tool that runs in the page. */
export function PickDate({ question, onPick }: { question: string; onPick: (date: string) => void }): ReactNode {
  const [date, setDate] = useState('');
  const pick = (event: SubmitEvent): void => {
    event.preventDefault();
    onPick(date);
  };
  return (
    <form className="ask" onSubmit={pick}>
      <label>
        {question}
        <input type="date" required value={date} onChange={({ target }) => setDate(target.value)} />
      </label>
      <div className="row">
        <button type="submit" className="primary">
          Choose
        </button>
      </div>
    </form>
  );
}

export function FileLink({ file }: { file: { id: string; filename: string; size_bytes: number } }): ReactNode {
  return (
    <a className="card file" href={`/api/files/${file.id}`} target="_blank" rel="noreferrer">
      <span aria-hidden="true">📄</span>
      <span className="grow">{file.filename}</span>
      <span className="soft">{sizeOf(file.size_bytes)}</span>
    </a>
  );
}

function sizeOf(bytes: number): string {
  if (bytes < 1024) return `${bytes} B`;
  return bytes < 1024 ** 2 ? `${Math.round(bytes / 1024)} KB` : `${(bytes / 1024 ** 2).toFixed(1)} MB`;
}

export function Note({ children, action }: { children: ReactNode; action?: ReactNode }): ReactNode {
  return (
    <div className="note" role="status">
      <span className="grow">{children}</span>
      {action}
    </div>
  );
}

/** For errors: `unknown` is what `catch` gives. */
export const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));
