import type { Session, TimelineEntry } from '../../../client/src/index.js';
import { isTerminal } from '../../../client/src/index.js';
import { useClient, useService } from '../client/service.js';
import { useLoad } from '../client/use-load.js';
import type { Turn } from '../conversation/conversation-log.js';
import { OutputView } from '../conversation/output-view.js';
import { CopyText } from '../parts/copy-text.js';
import { ErrorNote } from '../parts/error-note.js';
import { exactMoney, formatDateTime, formatDuration, formatNumber } from '../parts/format.js';
import { Json } from '../parts/json.js';
import { literal, RequestCode } from '../parts/request-code.js';
import { Tabs } from '../parts/tabs.js';
import { Waterfall } from '../timeline/waterfall.js';
import { Facts } from './facts.js';

interface Props {
  session: Session;
  turn: Turn;
  isOpen: boolean;
  onChoose: (entry: TimelineEntry) => void;
}

export function TurnInspector({ session, turn, isOpen, onChoose }: Props) {
  const end = turn.events.find(isTerminal);
  const output = end?.type === 'turn.completed' ? (end.output ?? null) : null;
  return (
    <Tabs
      label="Turn"
      tabs={[
        {
          name: 'Timeline',
          content: () => (
            <>
              <Waterfall sessionId={session.id} turnId={turn.id} isOpen={isOpen} onChoose={onChoose} />
              <TurnFacts session={session} turn={turn} />
            </>
          ),
        },
        ...(output === null
          ? []
          : [
              {
                name: 'Output',
                content: () => (
                  <>
                    <OutputView value={output} />
                    <Json value={output} label="Output" />
                  </>
                ),
              },
            ]),
        { name: 'Usage', content: () => <TurnUsage turn={turn} /> },
        { name: 'JSON', content: () => <TurnJson key={String(isOpen)} session={session} turn={turn} /> },
        { name: 'Code', content: () => <TurnCode session={session} turn={turn} /> },
      ]}
    />
  );
}

function TurnFacts({ session, turn }: { session: Session; turn: Turn }) {
  const first = turn.events[0];
  const end = turn.events.find(isTerminal);
  const timing = end?.timing;
  return (
    <Facts
      facts={[
        ['Begun', first === undefined ? null : formatDateTime(first.created_at)],
        ['Ended', end === undefined ? null : formatDateTime(end.created_at)],
        ['In total', timing === undefined ? null : formatDuration(timing.total_ms)],
        [
          'First token',
          timing === undefined || timing.first_token_ms === null
            ? null
            : `after ${formatDuration(timing.first_token_ms)}`,
        ],
        ['Turn', <CopyText text={turn.id} label="turn id" />],
        [
          'Link',
          <CopyText text={linkOf(session.id, turn.id)} label="link to this turn">
            Copy the link
          </CopyText>,
        ],
        ['Temporal', <WorkflowLink turnId={turn.id} />],
      ]}
    />
  );
}

function linkOf(sessionId: string, turnId: string): string {
  return `${location.href.split('#')[0]}#/sessions/${sessionId}?turn=${turnId}`;
}

function WorkflowLink({ turnId }: { turnId: string }) {
  const { workflow_url: address } = useService().config;
  if (address === null) return <span class="hint">The service has no address of a Temporal UI</span>;
  return (
    <a href={address.replace('{turn_id}', encodeURIComponent(turnId))} target="_blank" rel="noopener noreferrer">
      Workflow in Temporal
    </a>
  );
}

function TurnUsage({ turn }: { turn: Turn }) {
  const end = turn.events.find(isTerminal);
  if (end === undefined) return <p class="hint">Known when the turn has ended. The timeline shows each call so far.</p>;
  const { usage, usage_details: details } = end;
  if (usage === null || details === null) return <p class="hint">The turn never ran.</p>;
  const share = (tokens: number): string =>
    usage.input_tokens === 0 ? '' : ` (${Math.round((100 * tokens) / usage.input_tokens)} %)`;
  return (
    <Facts
      facts={[
        ['Cost', details.cost === null ? 'A model has no price' : exactMoney(details.cost)],
        ['Input', `${formatNumber(usage.input_tokens)} tokens`],
        ['Output', `${formatNumber(usage.output_tokens)} tokens`],
        [
          'Read from cache',
          `${formatNumber(details.cache_read_input_tokens)} tokens${share(details.cache_read_input_tokens)}`,
        ],
        ['Written to cache', `${formatNumber(details.cache_creation_input_tokens)} tokens`],
        ['Model calls', formatNumber(details.model_calls)],
        ['Estimated', details.estimated === true ? 'The model did not report all of its usage' : null],
      ]}
    />
  );
}

function TurnJson({ session, turn }: { session: Session; turn: Turn }) {
  const client = useClient();
  const { value, error } = useLoad((signal) => client.getTurn(session.id, turn.id, { signal }), [client, turn.id]);
  return (
    <>
      <ErrorNote error={error} />
      {value !== null && <Json value={value} label="Turn" />}
      <Json value={turn.events} label="Events" />
    </>
  );
}

function TurnCode({ session, turn }: { session: Session; turn: Turn }) {
  const first = turn.events.find((event) => event.type === 'user.message');
  const path = `/v1/sessions/${session.id}`;
  const body = first === undefined ? null : { content: first.content };
  return (
    <>
      {body !== null && (
        <>
          <h3>Send this message</h3>
          <RequestCode
            request={{
              method: 'POST',
              path: `${path}/messages`,
              body,
              client: `run('${session.id}', ${literal(body)})`,
            }}
          />
        </>
      )}
      <h3>Read this turn</h3>
      <RequestCode
        request={{ method: 'GET', path: `${path}/turns/${turn.id}`, client: `getTurn('${session.id}', '${turn.id}')` }}
      />
    </>
  );
}
