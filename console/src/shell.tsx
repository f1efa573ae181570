import { useEffect, useRef, useState } from 'preact/hooks';
import { AuditLogView } from './audit-log/audit-log-view.js';
import { useService } from './client/service.js';
import { ConnectionsView } from './connections/connections-view.js';
import { ErasuresView } from './erasures/erasures-view.js';
import { MemoriesView } from './memories/memories-view.js';
import { MemoryView } from './memories/memory-view.js';
import { NewConnection } from './connections/new-connection.js';
import { Conversation } from './conversation/conversation.js';
import { FilesView } from './files/files-view.js';
import { InboxView } from './inbox/inbox-view.js';
import { KeyView } from './keys/key-view.js';
import { KeysView } from './keys/keys-view.js';
import { NewKey } from './keys/new-key.js';
import { McpServerView } from './mcp-servers/mcp-server-view.js';
import { McpServersView } from './mcp-servers/mcp-servers-view.js';
import { NewMcpServer } from './mcp-servers/new-mcp-server.js';
import { AnnouncerProvider } from './parts/announcer.js';
import { Empty } from './parts/empty.js';
import { PageHead } from './parts/page-head.js';
import { navigate, useRoute, type Route } from './route.js';
import { NewSchedule } from './schedules/new-schedule.js';
import { ScheduleView } from './schedules/schedule-view.js';
import { SchedulesView } from './schedules/schedules-view.js';
import { NewSession } from './sessions/new-session.js';
import { SessionsView } from './sessions/sessions-view.js';
import { Help } from './shell/help.js';
import { Palette } from './shell/palette.js';
import { PhoneTabs, SideBar } from './shell/side-bar.js';
import { THEMES, useTheme } from './shell/theme.js';
import { useKeys, useLeaveField } from './shell/use-keys.js';
import { WaitingSessionsProvider } from './shell/waiting-sessions.js';
import { AgentView } from './agents/agent-view.js';
import { AgentsView } from './agents/agents-view.js';
import { NewAgent } from './agents/new-agent.js';
import { SkillsView } from './skills/skills-view.js';
import { UsageView } from './usage/usage-view.js';
import { NewWebhook } from './webhooks/new-webhook.js';
import { WebhookView } from './webhooks/webhook-view.js';
import { WebhooksView } from './webhooks/webhooks-view.js';

export function Shell({ onSignOut }: { onSignOut: () => void }) {
  const route = useRoute();
  const { reachable } = useService();
  const main = useRef<HTMLElement>(null);
  const [open, setOpen] = useState<'palette' | 'help' | null>(null);
  const [theme, setTheme] = useTheme();
  const path = route.segments.join('/');
  const first = useRef(true);

  useEffect(() => {
    // As after a page load: what comes next is read from the top of the new view.
    if (!first.current) {
      scrollTo(0, 0);
      main.current?.focus({ preventScroll: true });
    }
    first.current = false;
  }, [path]);

  useLeaveField();
  useKeys({
    'mod+k': () => setOpen('palette'),
    '?': () => setOpen('help'),
    '/': () => {
      const field = document.querySelector<HTMLInputElement>('input[type=search]');
      if (field === null) navigate('/sessions');
      else field.focus();
    },
    n: () => navigate('/sessions/new'),
    i: () => navigate('/inbox'),
    s: () => navigate('/sessions'),
  });

  const commands = [
    { id: 'new', label: 'New session', hint: 'N', icon: 'plus' as const, run: () => navigate('/sessions/new') },
    ...THEMES.filter((each) => each !== theme).map((each) => ({
      ...{ id: each, label: `Theme: ${each}`, hint: 'Theme', icon: each },
      run: () => setTheme(each),
    })),
    { id: 'help', label: 'Keys', hint: '?', icon: 'info' as const, run: () => setOpen('help') },
    {
      id: 'docs',
      label: 'API reference and guides',
      hint: 'Open',
      icon: 'code' as const,
      run: () => openTab('../docs'),
    },
    { id: 'out', label: 'Sign out', hint: '', icon: 'signOut' as const, run: onSignOut },
  ];

  return (
    <AnnouncerProvider>
      <WaitingSessionsProvider>
        <a class="skip" href="#main" onClick={(event) => (event.preventDefault(), main.current?.focus())}>
          Skip to content
        </a>
        <SideBar
          place={route.segments[0] ?? ''}
          theme={theme}
          onTheme={setTheme}
          onSearch={() => setOpen('palette')}
          onSignOut={onSignOut}
        />
        <div class="page">
          <div role="status" class="connection">
            {!reachable && 'The service does not answer. Trying again …'}
          </div>
          <main id="main" tabIndex={-1} ref={main}>
            <View key={path} route={route} />
          </main>
        </div>
        <PhoneTabs place={route.segments[0] ?? ''} theme={theme} onTheme={setTheme} onSignOut={onSignOut} />
        {open === 'palette' && <Palette commands={commands} onClose={() => setOpen(null)} />}
        {open === 'help' && <Help onClose={() => setOpen(null)} />}
      </WaitingSessionsProvider>
    </AnnouncerProvider>
  );
}

function openTab(address: string): void {
  window.open(new URL(address, document.baseURI), '_blank', 'noopener');
}

function View({ route: { segments, query } }: { route: Route }) {
  const [place, id, rest] = segments;
  if (rest !== undefined) return <UnknownAddress />;
  switch (place) {
    case '':
    case undefined:
    case 'sessions':
      if (id === 'new') return <NewSession like={query.get('like')} server={query.get('server')} />;
      return id === undefined ? <SessionsView query={query} /> : <Conversation sessionId={id} query={query} />;
    case 'mcp-servers':
      if (id === 'new') return <NewMcpServer />;
      return id === undefined ? <McpServersView /> : <McpServerView id={id} />;
    case 'connections':
      if (id === 'new') return <NewConnection query={query} />;
      return id === undefined ? <ConnectionsView query={query} /> : <UnknownAddress />;
    case 'memories':
      return id === undefined ? <MemoriesView query={query} /> : <MemoryView id={id} />;
    case 'webhooks':
      if (id === 'new') return <NewWebhook />;
      return id === undefined ? <WebhooksView /> : <WebhookView id={id} />;
    case 'keys':
      if (id === 'new') return <NewKey />;
      return id === undefined ? <KeysView /> : <KeyView id={id} />;
    case 'agents':
      if (id === 'new') return <NewAgent />;
      return id === undefined ? <AgentsView /> : <AgentView id={id} />;
    case 'schedules':
      if (id === 'new') return <NewSchedule />;
      return id === undefined ? <SchedulesView /> : <ScheduleView id={id} />;
  }
  if (id !== undefined) return <UnknownAddress />;
  switch (place) {
    case 'erasures':
      return <ErasuresView query={query} />;
    case 'inbox':
      return <InboxView />;
    case 'audit-log':
      return <AuditLogView key={query.toString()} query={query} />;
    case 'usage':
      return <UsageView query={query} />;
    case 'files':
      return <FilesView />;
    case 'skills':
      return <SkillsView />;
    default:
      return <UnknownAddress />;
  }
}

function UnknownAddress() {
  return (
    <>
      <PageHead title="There is no such page" />
      <Empty title={location.hash}>
        Look at the <a href="#/sessions">sessions</a>, or press <kbd>Ctrl</kbd> <kbd>K</kbd> to search.
      </Empty>
    </>
  );
}
