import type { Session } from '../../../client/src/index.js';
import { exactText } from '../../../src/platform/exact-json.js';
import { CopyText } from '../parts/copy-text.js';
import { exactMoney, formatDateTime } from '../parts/format.js';
import { Json } from '../parts/json.js';
import { literal, RequestCode } from '../parts/request-code.js';
import { Tabs } from '../parts/tabs.js';
import { bodyLike } from '../sessions/body-like.js';
import { Facts } from './facts.js';
import { RememberedApprovals } from './remembered-approvals.js';

export function SessionInspector({ session }: { session: Session }) {
  const body = bodyLike(session);
  return (
    <Tabs
      label="Session"
      tabs={[
        { name: 'Overview', content: () => <Overview session={session} /> },
        { name: 'JSON', content: () => <Json value={session} label="Session" /> },
        {
          name: 'Code',
          content: () => (
            <>
              <h3>Create a session like this one</h3>
              <RequestCode
                request={{ method: 'POST', path: '/v1/sessions', body, client: `createSession(${literal(body)})` }}
              />
            </>
          ),
        },
      ]}
    />
  );
}

function Overview({ session }: { session: Session }) {
  const { instruction, tools, metadata, budget, cost, mcp_servers: servers } = session;
  return (
    <>
      <Facts
        facts={[
          ['Session', <CopyText text={session.id} label="session id" />],
          ['Model', session.model_id],
          ['Fallbacks', session.fallback_model_ids.length === 0 ? null : session.fallback_model_ids.join(', ')],
          ['User', session.user],
          ['Thinking', session.thinking_enabled ? 'on' : 'off'],
          ['Cost', cost === null ? 'A model has no price' : exactMoney(cost)],
          ['Budget', budget === null ? null : exactMoney(budget.max_cost)],
          ['Created', formatDateTime(session.created_at)],
          ['Last activity', formatDateTime(session.updated_at)],
          ...Object.entries(metadata).map(([key, value]): [string, string] => [key, value]),
        ]}
      />
      <RememberedApprovals session={session} />
      {servers.length > 0 && (
        <>
          <h3>MCP servers</h3>
          <ul class="plain">
            {servers.map((id) => (
              <li key={id}>
                <a href={`#/mcp-servers/${id}`}>{id}</a>
              </li>
            ))}
          </ul>
        </>
      )}
      {instruction !== null && (
        <>
          <h3>Instruction</h3>
          <p class="plain-text">{instruction}</p>
        </>
      )}
      {tools.length > 0 && (
        <>
          <h3>Tools</h3>
          <pre tabIndex={0}>{exactText(tools, 2)}</pre>
        </>
      )}
    </>
  );
}
