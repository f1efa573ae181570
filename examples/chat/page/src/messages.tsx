import { useState, type ReactNode } from 'react';
import type { DynamicToolUIPart, UIMessage } from 'ai';
import type { File as StoredFile, RequiredAction } from '@agent-session-service/client';
import { Markdown } from './markdown.js';
import {
  Approval,
  Call,
  FileLink,
  Json,
  messageOf,
  PickDate,
  Thinking,
  type CallState,
  type Decision,
} from './parts.js';
import { Question, type Reply } from './question.js';

/** What a message can ask of its page. */
export interface Page {
  /** Answers can be given: no stream is open. */
  canAnswer: boolean;
  /** What the session waits for: it says what a tool is and may do. */
  actions: RequiredAction[];
  onApproval: (callId: string, decision: Decision) => void;
  onOutput: (callId: string, tool: string, output: unknown) => void;
  onReply: (elicitationId: string, reply: Reply) => void;
  /** Returns where the person connects an account. */
  onConnect: (serverId: string) => Promise<string>;
  onRefuse: (callId: string) => void;
}

const textOf = ({ parts }: UIMessage): string =>
  parts.flatMap((part) => (part.type === 'text' ? [part.text] : [])).join('\n');

interface MyMessageProps {
  message: UIMessage;
  /** Sends another text instead, in a copy of the chat. */
  onEdit: ((text: string) => void) | undefined;
}

export function MyMessage({ message, onEdit }: MyMessageProps): ReactNode {
  const [draft, setDraft] = useState<string | null>(null);
  if (draft !== null) {
    return (
      <form
        className="mine edit"
        onSubmit={(event) => {
          event.preventDefault();
          setDraft(null);
          onEdit?.(draft);
        }}
      >
        <textarea
          aria-label="Edited message"
          rows={3}
          value={draft}
          autoFocus
          onChange={({ target }) => setDraft(target.value)}
        />
        <div className="row">
          <button type="submit" className="primary" disabled={draft.trim() === ''}>
            Send in a copy
          </button>
          <button type="button" onClick={() => setDraft(null)}>
            Cancel
          </button>
        </div>
      </form>
    );
  }
  return (
    <article className="mine" aria-label="You">
      {message.parts.map((part, index) => (part.type === 'file' ? <Chip key={index} name={part.filename} /> : null))}
      <p className="bubble">{textOf(message)}</p>
      {onEdit !== undefined && (
        <button type="button" className="plain act" onClick={() => setDraft(textOf(message))}>
          Edit
        </button>
      )}
    </article>
  );
}

const Chip = ({ name = 'file' }: { name?: string | undefined }): ReactNode => <span className="chip">{name}</span>;

interface AnswerProps {
  message: UIMessage;
  page: Page;
  isStreaming: boolean;
  /** Answers again, in a copy of the chat. */
  onAgain: (() => void) | undefined;
}

export function Answer({ message, page, isStreaming, onAgain }: AnswerProps): ReactNode {
  return (
    <article className="answer" aria-label="Agent">
      {message.parts.map((part, index) => (
        <Part key={index} part={part} page={page} />
      ))}
      {!isStreaming && onAgain !== undefined && message.id.startsWith('turn_') && (
        <button type="button" className="plain act" onClick={onAgain}>
          Answer again
        </button>
      )}
    </article>
  );
}

function Part({ part, page }: { part: UIMessage['parts'][number]; page: Page }): ReactNode {
  switch (part.type) {
    case 'text':
      return <Markdown text={part.text} />;
    case 'reasoning':
      return <Thinking text={part.text} isOpen={part.state === 'streaming'} />;
    case 'dynamic-tool':
      return <ToolPart part={part} page={page} />;
    case 'steering-message':
      return <p className="bubble steering">{part.parts.map((one) => (one.type === 'text' ? one.text : ''))}</p>;
    case 'data-file':
      return <FileLink file={part.data as StoredFile} />;
    case 'data-changed-input':
      return <Json label="Changed by a person to" value={part.data} />;
    case 'data-queued':
      return part.data === null ? null : <p className="soft">Waits until the answer before is complete.</p>;
    case 'data-output':
      return <Json label="Result" value={part.data} />;
    case 'data-required-action':
      return part.data === null ? null : <Wait action={part.data as RequiredAction} page={page} />;
    default:
      return null;
  }
}

function stateOf({ state, approval }: DynamicToolUIPart): CallState {
  if (state === 'output-available') return 'done';
  if (state === 'output-denied' || (state === 'approval-responded' && approval?.approved === false)) return 'denied';
  if (state === 'output-error') return 'failed';
  return state === 'approval-requested' ? 'asks' : 'running';
}

function ToolPart({ part, page }: { part: DynamicToolUIPart; page: Page }): ReactNode {
  const { toolCallId, toolName, state, input, providerExecuted } = part;
  const isMine = state === 'input-available' && providerExecuted !== true;
  const output = state === 'output-available' ? part.output : state === 'output-error' ? part.errorText : undefined;
  return (
    <Call name={toolName} input={input} output={output} state={isMine ? 'asks' : stateOf(part)}>
      {state === 'approval-requested' && page.canAnswer && (
        <Approval
          input={input}
          about={page.actions.find((one) => one.type === 'tool_confirmation' && one.tool_use_id === toolCallId)}
          onAnswer={(decision) => page.onApproval(toolCallId, decision)}
        />
      )}
      {isMine && page.canAnswer && toolName === 'pick_date' && (
        <PickDate
          question={(input as { question?: string }).question ?? 'Which day?'}
          onPick={(date) => page.onOutput(toolCallId, toolName, { date })}
        />
      )}
    </Call>
  );
}

/** What the AI SDK has no part for: the stream stays open, and the page answers with the client. */
function Wait({ action, page }: { action: RequiredAction; page: Page }): ReactNode {
  if (action.type === 'elicitation') {
    return (
      <Question
        message={action.message}
        {...(action.mode === 'form' ? { form: action.requested_schema } : { url: action.url })}
        onAnswer={(reply) => page.onReply(action.elicitation_id, reply)}
      />
    );
  }
  if (action.type === 'mcp_authorization') return <Connect action={action} page={page} />;
  if (action.type === 'budget') return <p className="card ask">The budget of this chat is used up. Ask your team.</p>;
  return null;
}

function Connect({
  action: { name, tool_use_id: callId, mcp_server_id: serverId },
  page,
}: {
  action: Extract<RequiredAction, { type: 'mcp_authorization' }>;
  page: Page;
}): ReactNode {
  const [url, setUrl] = useState<string | null>(null);
  const [error, setError] = useState<unknown>(null);
  return (
    <div className="card ask">
      <p>{name} needs your account.</p>
      {error !== null && <p className="bad">{messageOf(error)}</p>}
      <div className="row">
        {url === null ? (
          <button
            type="button"
            className="primary"
            onClick={() => {
              page.onConnect(serverId).then(setUrl, setError);
            }}
          >
            Connect
          </button>
        ) : (
          <a href={url} target="_blank" rel="noreferrer">
            Sign in there, then come back
          </a>
        )}
        <button type="button" onClick={() => page.onRefuse(callId)}>
          Not now
        </button>
      </div>
    </div>
  );
}
