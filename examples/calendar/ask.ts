import { setTimeout as sleep } from 'node:timers/promises';
import { AgentSessionClient } from '@agent-session-service/client';

/** `npm run ask -- jane@example.com`: asks what is in the calendar of a person, in a session of theirs. */
const { BASE = 'http://127.0.0.1:8080', KEY, CALENDAR_PORT = '7303' } = process.env;
const [user] = process.argv.slice(2);
if (KEY === undefined || user === undefined)
  throw new Error('Set KEY to an API key, and name a person: see README.md.');

const client = new AgentSessionClient({ baseUrl: BASE, apiKey: KEY });
const { items: models } = await client.listModels({ limit: 1 });
const serverId = await calendarServer();
const session = await client.createSession({ model_id: models[0]!.id, mcp_servers: [serverId], user });

// The local model of `npm start` reads no text: it follows commands.
const task = models[0]!.id === 'local-rules' ? 'call list_events' : 'What is in my calendar today?';
const { status, message } = await client.run(
  session.id,
  { content: task },
  {
    async onEvent(event) {
      if (event.type === 'agent.tool_result') console.log(event.content);
      if (event.type !== 'agent.requires_action') return;
      for (const action of event.required_actions) {
        if (action.type !== 'mcp_authorization') continue;
        const { authorization_url } = await client.authorizeSession(session.id, {
          mcp_server_id: action.mcp_server_id,
        });
        console.log(
          `${user} has not connected the calendar. Sign in as ${user}, and the turn goes on:\n${authorization_url}`,
        );
      }
    },
  },
);
console.log(`${status}: ${message}`);

/** The tools of a server with OAUTH are known when the first person has signed in to it: here whoever sets the example up. */
async function calendarServer(): Promise<string> {
  for await (const server of client.eachMcpServer()) if (server.name === 'calendar') return server.id;
  const { id, auth } = await client.registerMcpServer({
    name: 'calendar',
    url: `http://127.0.0.1:${CALENDAR_PORT}/mcp`,
    auth: { type: 'OAUTH' },
    credentials: 'user',
  });
  const link = 'authorization_url' in auth ? auth.authorization_url : null;
  console.log(`Sign in as admin, so that the service can list the tools of the calendar:\n${link}`);
  while ((await client.getMcpServer(id)).tools.length === 0) await sleep(1000);
  return id;
}
