import { Chat } from '@ai-sdk/react';
import type { UIMessage } from 'ai';
import { AgentSessionClient } from '@agent-session-service/client';
import { AgentSessionTransport, loadMessages } from '@agent-session-service/client/ai-sdk';
import { tokenOf } from './back-end.js';

/** A chat of this page. It belongs to no component: a component that goes away would cancel its turn. */
export interface OpenChat {
  id: string;
  client: AgentSessionClient;
  transport: AgentSessionTransport;
  chat: Chat<UIMessage>;
  /** Id of the newest event that is shown. */
  after: string | undefined;
  /** Shows the copy in which an edited message goes on. */
  onFork: (id: string) => void;
}

const opened = new Map<string, Promise<OpenChat>>();

/** Opens a session as a chat: its history, and then its open turn from the start. `token`: one that the page has for it already. */
export function openChat(service: string, id: string, token?: string): Promise<OpenChat> {
  let opening = opened.get(id);
  if (opening === undefined) {
    opening = open(service, id, token);
    opened.set(id, opening);
    opening.catch(() => opened.delete(id));
  }
  return opening;
}

async function open(service: string, id: string, token?: string): Promise<OpenChat> {
  const client = new AgentSessionClient({ baseUrl: service, apiKey: tokenOf(id, token) });
  const transport = new AgentSessionTransport({
    client,
    // The page may not know yet that a turn is open.
    whenRunning: 'queue',
    onFork({ session, token }) {
      // This chat has cut its messages back: it is loaded again when somebody comes back to it.
      opened.delete(id);
      void openChat(service, session.id, token);
      opening.onFork(session.id);
    },
  });
  const chat = new Chat<UIMessage>({ id, transport });
  const opening: OpenChat = { id, client, transport, chat, after: undefined, onFork: () => undefined };
  await load(opening);
  void chat.resumeStream();
  return opening;
}

/** Shows what the service has. The place is read first, so that what happens meanwhile is seen by `follow`. */
export async function load(open: OpenChat): Promise<void> {
  const { id, client, chat } = open;
  const { items } = await client.listEvents(id, { order: 'desc', limit: 1 });
  const messages = await loadMessages(client, id);
  open.after = items[0]?.id;
  chat.messages = messages;
}
