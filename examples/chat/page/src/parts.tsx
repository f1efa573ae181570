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

export type Decision = { approved: true } | { approved: false; reason?: string };

/** A person allows a call, or denies it with a reason that the agent reads. */
export function Approval({ input, onAnswer }: { input: unknown; onAnswer: (decision: Decision) => void }): ReactNode {
  const [isDenying, setDenying] = useState(false);
  const [reason, setReason] = useState('');
  const deny = (event: SubmitEvent): void => {
    event.preventDefault();
    onAnswer({ approved: false, ...(reason.trim() !== '' && { reason: reason.trim() }) });
  };
  return (
    <div className="ask">
      <p>The agent wants to do this:</p>
      <dl>
        {Object.entries((input ?? {}) as Record<string, unknown>).map(([name, value]) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd>{typeof value === 'string' ? value : JSON.stringify(value)}</dd>
          </div>
        ))}
      </dl>
      {isDenying ? (
        <form onSubmit={deny} className="row">
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
      ) : (
        <div className="row">
          <button type="button" className="primary" onClick={() => onAnswer({ approved: true })}>
            Allow
          </button>
          <button type="button" onClick={() => setDenying(true)}>
            Deny…
          </button>
        </div>
      )}
    </div>
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
