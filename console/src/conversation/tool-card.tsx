import { exactText } from '../../../src/platform/exact-json.js';
import { formatDateTime, formatDuration } from '../parts/format.js';
import { Icon } from '../parts/icon.js';
import { formatToolName } from '../parts/tool-name.js';
import { WorkspaceResult } from '../workspace/workspace-result.js';
import { changesOf } from './changed-input.js';
import { Confirmation } from './confirmation.js';
import { Connect } from './connect.js';
import { CustomResultForm } from './custom-result-form.js';
import { ElicitationForm } from './elicitation-form.js';
import { useInspect } from './inspect-context.js';
import { commandOf, workspaceOf, type ToolCall } from './tool-calls.js';

export function ToolCard({ call, turnId }: { call: ToolCall; turnId: string }) {
  const { select } = useInspect();
  const { use, result, confirmation, waitsFor, questions, wait, progress, delegated } = call;
  const state = stateOf(call);
  const workspace = workspaceOf(call);
  const exitCode = workspace?.exit_code ?? null;
  return (
    <div class={`tool ${state.replaceAll(' ', '-')}`} id={`step-${use.tool_use_id}`}>
      <details open={waitsFor !== null}>
        <summary onClick={() => select({ kind: 'tool', turnId, toolUseId: use.tool_use_id })}>
          <Icon name={use.type === 'agent.custom_tool_use' ? 'code' : 'tool'} size={14} />
          <span class="tool-name">{formatToolName(use.name)}</span>
          <span class="tool-state">{state}</span>
          {wait !== null && state === 'waiting' && <span class="hint">until {formatDateTime(wait.until)}</span>}
          {progress !== null && result === null && <span class="hint">{progress.message ?? progress.status}</span>}
          {result !== null && (
            <span class="hint" title="From the request for it to its stored result. The timeline shows the call alone">
              {formatDuration(durationOf(call))}
            </span>
          )}
          {exitCode !== null && exitCode !== 0 && <span class="hint">exit code {exitCode}</span>}
        </summary>
        <ToolInput use={use} />
        <ChangedInput call={call} />
        {result !== null && (
          <>
            <h3>{result.is_error ? 'Error' : 'Result'}</h3>
            <pre tabIndex={0}>{result.content}</pre>
            {'truncated' in result && <p class="hint">Only the first 16 KiB are kept here; the agent saw more.</p>}
            {workspace !== null && <WorkspaceResult result={workspace} />}
          </>
        )}
        {'evaluated_permission' in use && use.evaluated_permission === 'remembered' && (
          <p class="hint">Not asked for: a person has allowed this tool for the session</p>
        )}
        {confirmation !== null && (
          <p class="hint">
            {wait !== null
              ? 'Ended early by a person'
              : confirmation.result === 'allow'
                ? 'Allowed by a person'
                : 'Denied by a person'}
            {confirmation.remember === 'session' && ', and for the rest of the session'}
            {confirmation.deny_message !== null && `: ${confirmation.deny_message}`}
          </p>
        )}
      </details>
      {delegated !== null && (
        <p class="hint">
          <a href={`#/sessions/${delegated.child_session_id}?turn=${delegated.child_turn_id}`}>
            Open what this agent does
          </a>
          {call.childAsks && ' It asks for an answer, there or under “Waiting for you”.'}
        </p>
      )}
      {waitsFor?.type === 'tool_confirmation' && <Confirmation action={waitsFor} />}
      {waitsFor?.type === 'mcp_authorization' && <Connect action={waitsFor} />}
      {waitsFor?.type === 'custom_tool_result' && <CustomResultForm action={waitsFor} />}
      {questions.map((question) => (
        <ElicitationForm key={question.elicitation_id} question={question} />
      ))}
    </div>
  );
}

/** A command is shown as a text, with its own lines; other input as JSON. */
function ToolInput({ use }: { use: ToolCall['use'] }) {
  const command = commandOf(use);
  const others = command === null ? use.input : { ...use.input, command: undefined };
  return (
    <>
      {command !== null && (
        <>
          <h3>Command</h3>
          <pre tabIndex={0}>{command}</pre>
        </>
      )}
      {(command === null || Object.keys(use.input).length > 1) && (
        <>
          <h3>Input</h3>
          <pre tabIndex={0}>{exactText(others, 2)}</pre>
        </>
      )}
    </>
  );
}

/** What a person has changed of the input before the call ran. */
function ChangedInput({ call: { use, confirmation } }: { call: ToolCall }) {
  if (!confirmation?.input) return null;
  return (
    <>
      <h3>Changed by a person</h3>
      <dl class="changed-input">
        {changesOf(use.input, confirmation.input).map(({ name, before, after }) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd>
              <del>{before ?? 'nothing'}</del> → <ins>{after ?? 'nothing'}</ins>
            </dd>
          </div>
        ))}
      </dl>
    </>
  );
}

function stateOf({ result, confirmation, waitsFor, questions, wait, childAsks, turnEnded }: ToolCall): string {
  if (waitsFor !== null || questions.length > 0 || childAsks) return 'waiting for you';
  if (confirmation?.result === 'deny' && wait === null) return 'denied';
  if (result !== null) return result.is_error ? 'error' : 'done';
  if (turnEnded) return 'no result';
  return wait === null ? 'running' : 'waiting';
}

/** From the call, or from its permission, to its result. */
function durationOf({ use, result, confirmation, wait }: ToolCall): number {
  const from = (wait === null && confirmation) || use;
  return Date.parse(result!.created_at) - Date.parse(from.created_at);
}
