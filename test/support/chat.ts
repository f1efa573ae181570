import { Chat } from '@ai-sdk/react';
import type { ChatInit, UIMessage } from 'ai';
import { AgentSessionClient } from '../../client/src/index.js';
import { AgentSessionTransport, loadMessages } from '../../client/src/ai-sdk/index.js';
import { eventually } from './eventually.js';
import { text, wait, type Gate, type Part as ReplyPart } from './scripted-model.js';
import type { TurnService } from './turns.js';

type Part = UIMessage['parts'][number];

/** A page with a chat of the AI SDK, without a browser: what it shows is in `chat.messages`. */
export interface ChatPage {
  chat: Chat<UIMessage>;
  transport: AgentSessionTransport;
  client: AgentSessionClient;
  /** Errors that the page was told of. */
  errors: Error[];
  /** Waits until the chat has this status. */
  until(status: Chat<UIMessage>['status']): Promise<void>;
}

interface ChatPageOptions extends Omit<ChatInit<UIMessage>, 'id' | 'transport'> {
  apiKey?: string;
  baseUrl?: string;
  transport?: Partial<ConstructorParameters<typeof AgentSessionTransport>[0]>;
  /** Starts with the history of the session, as a page that is loaded again. */
  isLoaded?: boolean;
}

export async function openChat(
  { url, key }: Pick<TurnService, 'url' | 'key'>,
  id: string,
  { apiKey = key, baseUrl = url, transport: given, isLoaded = false, ...init }: ChatPageOptions = {},
): Promise<ChatPage> {
  const client = new AgentSessionClient({ baseUrl, apiKey });
  const transport = new AgentSessionTransport({ client, ...given });
  const errors: Error[] = [];
  const messages = isLoaded ? await loadMessages(client, id) : [];
  const chat = new Chat<UIMessage>({ id, messages, onError: (error) => errors.push(error), ...init, transport });
  return {
    chat,
    transport,
    client,
    errors,
    until: (status) => eventually(`the chat is ${status}`, () => chat.status === status),
  };
}

/** A chat that shows the first words of an answer, `Begun.`. The model writes on, as `then` says, when the gate is open. */
export async function openAnswering(
  service: TurnService,
  id: string,
  { then = [], ...options }: ChatPageOptions & { then?: ReplyPart[] } = {},
): Promise<{ page: ChatPage; sent: Promise<void>; gate: Gate }> {
  const gate = service.model.gate();
  service.model.reply([text('Begun.'), wait(gate), ...then]);
  const page = await openChat(service, id, options);
  const sent = page.chat.sendMessage({ text: 'Go' });
  await eventually('text shows', () => textOf(page.chat.messages.at(-1)) === 'Begun.');
  return { page, sent, gate };
}

export const textOf = (message: UIMessage | undefined): string =>
  (message?.parts ?? []).flatMap((part) => (part.type === 'text' ? [part.text] : [])).join('|');

export const kindsOf = ({ parts }: UIMessage): string[] =>
  parts.map((part: Part) => ('state' in part && 'toolCallId' in part ? `${part.type}:${part.state}` : part.type));

/** The parts without what only differs between a stream and the history. */
export function shownParts({ parts }: UIMessage): object[] {
  return parts.map((part) => JSON.parse(JSON.stringify(part)) as object);
}
