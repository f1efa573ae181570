import type { TimelineEntry, Session } from '../../../client/src/index.js';
import { hasEnded, type Turn } from '../conversation/conversation-log.js';
import { useInspect } from '../conversation/inspect-context.js';
import { toolCallsOf } from '../conversation/tool-calls.js';
import { Icon } from '../parts/icon.js';
import { formatToolName } from '../parts/tool-name.js';
import { WorkspacePanel } from '../workspace/workspace-panel.js';
import { SessionInspector } from './session-inspector.js';
import { ToolInspector } from './tool-inspector.js';
import { TurnInspector } from './turn-inspector.js';

interface Props {
  session: Session;
  turns: readonly Turn[];
  /** On a narrow screen it lies over the conversation. */
  onClose: (() => void) | null;
}

/** Everything about what was chosen in the conversation: the session, a turn, or a call of a tool. */
export function Inspector({ session, turns, onClose }: Props) {
  const { selected, select } = useInspect();
  const turn =
    selected.kind === 'latest'
      ? turns.at(-1)
      : 'turnId' in selected
        ? turns.find(({ id }) => id === selected.turnId)
        : undefined;
  const isWorkspace = selected.kind === 'workspace' && session.workspace !== null;
  const call =
    selected.kind === 'tool' && turn !== undefined ? toolCallsOf(turn.events).get(selected.toolUseId) : undefined;
  const choose = (entry: TimelineEntry): void => {
    const { tool_use_id: toolUseId, message_id: messageId } = entry;
    if (toolUseId !== undefined && turn !== undefined) select({ kind: 'tool', turnId: turn.id, toolUseId });
    show(toolUseId ?? messageId);
  };
  return (
    <aside class="inspector" aria-label="Inspector">
      <div class="inspector-head">
        <nav aria-label="Inspected">
          <button
            class="crumb"
            aria-current={turn === undefined && !isWorkspace ? 'true' : undefined}
            onClick={() => select({ kind: 'session' })}
          >
            Session
          </button>
          {isWorkspace && (
            <>
              <Icon name="next" size={12} />
              <span class="crumb" aria-current="true">
                Workspace
              </span>
            </>
          )}
          {turn !== undefined && (
            <>
              <Icon name="next" size={12} />
              <button
                class="crumb"
                aria-current={call === undefined ? 'true' : undefined}
                onClick={() => select({ kind: 'turn', turnId: turn.id })}
              >
                Turn {turns.indexOf(turn) + 1}
              </button>
            </>
          )}
          {call !== undefined && (
            <>
              <Icon name="next" size={12} />
              <span class="crumb clip" aria-current="true">
                {formatToolName(call.use.name)}
              </span>
            </>
          )}
        </nav>
        {onClose !== null && (
          <button class="quiet" aria-label="Close the inspector" onClick={onClose}>
            <Icon name="close" />
          </button>
        )}
      </div>
      {isWorkspace ? (
        <WorkspacePanel key={session.id} session={session} turns={turns} />
      ) : turn === undefined ? (
        <SessionInspector session={session} />
      ) : call === undefined ? (
        <TurnInspector key={turn.id} session={session} turn={turn} isOpen={!hasEnded(turn)} onChoose={choose} />
      ) : (
        <ToolInspector key={call.use.tool_use_id} session={session} turn={turn} call={call} />
      )}
    </aside>
  );
}

/** Brings a step into view, if the conversation shows it. */
function show(id: string | undefined): void {
  const element = id === undefined ? null : document.getElementById(`step-${id}`);
  element?.scrollIntoView({ block: 'center', behavior: 'smooth' });
  element?.classList.add('found');
  setTimeout(() => element?.classList.remove('found'), 1_600);
}
