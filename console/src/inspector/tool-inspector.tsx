import type { Session } from '../../../client/src/index.js';
import type { Turn } from '../conversation/conversation-log.js';
import { workspaceOf, type ToolCall } from '../conversation/tool-calls.js';
import { CodeBlock } from '../parts/code-block.js';
import { CopyText } from '../parts/copy-text.js';
import { formatDateTime, formatDuration } from '../parts/format.js';
import { Json } from '../parts/json.js';
import { prettyJson } from '../parts/pretty-json.js';
import { literal, RequestCode } from '../parts/request-code.js';
import { Tabs } from '../parts/tabs.js';
import { navigate } from '../route.js';
import { Waterfall } from '../timeline/waterfall.js';
import { WorkspaceResult } from '../workspace/workspace-result.js';
import { Facts } from './facts.js';

interface Props {
  session: Session;
  turn: Turn;
  call: ToolCall;
}

export function ToolInspector({ session, turn, call }: Props) {
  const { use, result, delegated } = call;
  const workspace = workspaceOf(call);
  return (
    <Tabs
      label="Tool call"
      tabs={[
        { name: 'Input', content: () => <Json value={use.input} label="Input" /> },
        {
          name: 'Result',
          content: () =>
            result === null ? (
              <p class="hint">There is no result yet.</p>
            ) : (
              <>
                <CodeBlock text={prettyJson(result.content)} label={result.is_error ? 'Error' : 'Result'} />
                {'truncated' in result && <p class="hint">Only the first 16 KiB are kept here; the agent saw more.</p>}
                {workspace !== null && <WorkspaceResult result={workspace} />}
              </>
            ),
        },
        ...(delegated === null
          ? []
          : [{ name: 'Agent', content: () => <ChildTurn delegated={delegated} isOpen={result === null} /> }]),
        { name: 'Timing', content: () => <Timing call={call} /> },
        { name: 'JSON', content: () => <Json value={eventsOf(turn, use.tool_use_id)} label="Events" /> },
        { name: 'Code', content: () => <Code session={session} call={call} /> },
      ]}
    />
  );
}

/** What the other agent did when, for the call. */
function ChildTurn({ delegated, isOpen }: { delegated: NonNullable<ToolCall['delegated']>; isOpen: boolean }) {
  const { child_session_id: sessionId, child_turn_id: turnId, agent_id: agentId, agent_version: version } = delegated;
  const address = `/sessions/${sessionId}?turn=${turnId}`;
  return (
    <>
      <p class="hint">
        Version {version} of {agentId} works in <a href={`#${address}`}>a session of its own</a>.
      </p>
      <Waterfall sessionId={sessionId} turnId={turnId} isOpen={isOpen} onChoose={() => navigate(address)} />
    </>
  );
}

function Timing({ call: { use, confirmation, result } }: { call: ToolCall }) {
  const from = Date.parse((confirmation ?? use).created_at);
  return (
    <Facts
      facts={[
        ['Called', formatDateTime(use.created_at)],
        [
          'Decided',
          confirmation === null
            ? null
            : `${confirmation.result === 'allow' ? 'Allowed' : 'Denied'} after ${formatDuration(from - Date.parse(use.created_at))}${confirmation.actor === null ? '' : ` by ${confirmation.actor}`}`,
        ],
        ['Ended', result === null ? null : formatDateTime(result.created_at)],
        ['Took, with storing', result === null ? null : formatDuration(Date.parse(result.created_at) - from)],
        ['Call', <CopyText text={use.tool_use_id} label="id of the call" />],
      ]}
    />
  );
}

function eventsOf({ events }: Turn, toolUseId: string): unknown[] {
  return events.filter((event) => 'tool_use_id' in event && event.tool_use_id === toolUseId);
}

function Code({ session, call: { use } }: { session: Session; call: ToolCall }) {
  const event =
    use.type === 'agent.custom_tool_use'
      ? { type: 'user.custom_tool_result', tool_use_id: use.tool_use_id, content: 'The result' }
      : { type: 'user.tool_confirmation', tool_use_id: use.tool_use_id, result: 'allow' };
  return (
    <>
      <h3>{use.type === 'agent.custom_tool_use' ? 'Send its result' : 'Allow it, where it asks'}</h3>
      <RequestCode
        request={{
          method: 'POST',
          path: `/v1/sessions/${session.id}/events`,
          body: { events: [event] },
          client: `sendAnswers('${session.id}', [${literal(event)}])`,
        }}
      />
    </>
  );
}
