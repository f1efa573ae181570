import { useEffect, useRef } from 'preact/hooks';
import { useService } from './client/service.js';
import { Conversation } from './conversation/conversation.js';
import { FilesView } from './files/files-view.js';
import { McpServerView } from './mcp-servers/mcp-server-view.js';
import { McpServersView } from './mcp-servers/mcp-servers-view.js';
import { NewMcpServer } from './mcp-servers/new-mcp-server.js';
import { AnnouncerProvider } from './parts/announcer.js';
import { useRoute } from './route.js';
import { NewSchedule } from './schedules/new-schedule.js';
import { ScheduleView } from './schedules/schedule-view.js';
import { SchedulesView } from './schedules/schedules-view.js';
import { NewSession } from './sessions/new-session.js';
import { SessionsView } from './sessions/sessions-view.js';
import { SkillsView } from './skills/skills-view.js';
import { UsageView } from './usage/usage-view.js';
import { NewWebhook } from './webhooks/new-webhook.js';
import { WebhookView } from './webhooks/webhook-view.js';
import { WebhooksView } from './webhooks/webhooks-view.js';

const PLACES = [
  ['sessions', 'Sessions'],
  ['files', 'Files'],
  ['skills', 'Skills'],
  ['mcp-servers', 'MCP servers'],
  ['schedules', 'Schedules'],
  ['webhooks', 'Webhooks'],
  ['usage', 'Usage'],
] as const;

export function Shell({ onSignOut }: { onSignOut: () => void }) {
  const route = useRoute();
  const { reachable } = useService();
  const main = useRef<HTMLElement>(null);
  const path = route.join('/');
  const first = useRef(true);

  useEffect(() => {
    // As after a page load: what comes next is read from the top of the new view.
    if (!first.current) main.current?.focus();
    first.current = false;
    // On a phone the places are wider than the window.
    document.querySelector('nav [aria-current]')?.scrollIntoView({ block: 'nearest', inline: 'nearest' });
  }, [path]);

  return (
    <AnnouncerProvider>
      <a class="skip" href="#main" onClick={(event) => (event.preventDefault(), main.current?.focus())}>
        Skip to content
      </a>
      <header class="top">
        <a class="brand" href="#/sessions">
          Agent sessions
        </a>
        <nav aria-label="Main">
          {PLACES.map(([name, label]) => (
            <a key={name} href={`#/${name}`} aria-current={route[0] === name ? 'page' : undefined}>
              {label}
            </a>
          ))}
        </nav>
        <button class="quiet" onClick={onSignOut}>
          Sign out
        </button>
      </header>
      <div role="status" class="connection">
        {!reachable && 'The service does not answer. Trying again …'}
      </div>
      <main id="main" tabIndex={-1} ref={main}>
        <View key={path} route={route} />
      </main>
    </AnnouncerProvider>
  );
}

function View({ route: [place, id] }: { route: string[] }) {
  if (place === 'usage') return <UsageView />;
  if (place === 'files') return <FilesView />;
  if (place === 'skills') return <SkillsView />;
  if (place === 'mcp-servers') {
    if (id === 'new') return <NewMcpServer />;
    return id === undefined ? <McpServersView /> : <McpServerView id={id} />;
  }
  if (place === 'webhooks') {
    if (id === 'new') return <NewWebhook />;
    return id === undefined ? <WebhooksView /> : <WebhookView id={id} />;
  }
  if (place === 'schedules') {
    if (id === 'new') return <NewSchedule />;
    return id === undefined ? <SchedulesView /> : <ScheduleView id={id} />;
  }
  if (id === 'new') return <NewSession />;
  return id === undefined ? <SessionsView /> : <Conversation sessionId={id} />;
}
