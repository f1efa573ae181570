import { StrictMode, useCallback, useEffect, useLayoutEffect, useRef, useState, type ReactNode } from 'react';
import { createRoot } from 'react-dom/client';
import {
  createChat,
  getMe,
  getPeople,
  listChats,
  SignedOut,
  signIn,
  signOut,
  type ChatRow,
  type Me,
} from './back-end.js';
import { Composer } from './composer.js';
import { messageOf, Note } from './parts.js';

/** What differs between the two pages. */
export interface ChatKind {
  label: 'AI SDK' | 'AG-UI';
  /** Shows one chat. `onChange` updates the list of chats, `onOpen` goes to another one. */
  View: (props: { me: Me; id: string; onChange: () => void; onOpen: (id: string) => void }) => ReactNode;
  /** Sends the first message of a new chat. */
  begin: (me: Me, id: string, text: string) => Promise<void>;
}

export function start(kind: ChatKind): void {
  createRoot(document.getElementById('root')!).render(
    <StrictMode>
      <App kind={kind} />
    </StrictMode>,
  );
}

function App({ kind }: { kind: ChatKind }): ReactNode {
  const [me, setMe] = useState<Me | 'signed-out' | null>(null);
  const [error, setError] = useState<unknown>(null);
  const load = useCallback(() => {
    getMe().then(setMe, (cause: unknown) => (cause instanceof SignedOut ? setMe('signed-out') : setError(cause)));
  }, []);
  useEffect(load, [load]);
  if (error !== null) return <Note>{messageOf(error)}</Note>;
  if (me === null) return null;
  return me === 'signed-out' ? <SignIn onDone={load} /> : <Signed me={me} kind={kind} />;
}

function SignIn({ onDone }: { onDone: () => void }): ReactNode {
  const [people, setPeople] = useState<{ id: string; name: string }[]>([]);
  useEffect(() => void getPeople().then(setPeople), []);
  return (
    <main className="sign-in">
      <h1>Who are you?</h1>
      <p className="soft">This page stands in for the sign-in of your own application.</p>
      <div className="column">
        {people.map(({ id, name }) => (
          <button key={id} type="button" onClick={() => void signIn(id).then(onDone)}>
            {name}
          </button>
        ))}
      </div>
    </main>
  );
}

const idInAddress = (): string | null => /^#(ses_\w+)$/.exec(location.hash)?.[1] ?? null;

function Signed({ me, kind }: { me: Me; kind: ChatKind }): ReactNode {
  const [id, setId] = useState(idInAddress);
  const [chats, setChats] = useState<ChatRow[]>([]);
  const [isListOpen, setListOpen] = useState(false);
  const refresh = useCallback(() => void listChats().then(setChats, () => undefined), []);
  useEffect(() => {
    const onHash = (): void => setId(idInAddress());
    addEventListener('hashchange', onHash);
    return () => removeEventListener('hashchange', onHash);
  }, []);
  useEffect(refresh, [refresh, id]);
  const open = (next: string): void => {
    location.hash = next;
  };
  const { View } = kind;
  const here = id === null ? '' : `#${id}`;
  return (
    <div className="shell">
      <header>
        <button
          type="button"
          className="plain only-small"
          aria-expanded={isListOpen}
          onClick={() => setListOpen(!isListOpen)}
        >
          ☰ Chats
        </button>
        <nav aria-label="Protocol" className="tabs">
          <a href={`/${here}`} aria-current={kind.label === 'AI SDK' ? 'page' : undefined}>
            AI SDK
          </a>
          <a href={`/ag-ui.html${here}`} aria-current={kind.label === 'AG-UI' ? 'page' : undefined}>
            AG-UI
          </a>
        </nav>
        <span className="grow" />
        <span className="person">{me.name}</span>
        <button
          type="button"
          className="plain"
          onClick={() => {
            void signOut().then(() => location.replace(location.pathname));
          }}
        >
          Sign out
        </button>
      </header>
      <nav className={isListOpen ? 'side open' : 'side'} aria-label="Chats" onClick={() => setListOpen(false)}>
        <a className="new" href="#">
          New chat
        </a>
        <ul>
          {chats.map((chat) => (
            <li key={chat.id}>
              <a href={`#${chat.id}`} aria-current={chat.id === id ? 'page' : undefined}>
                <span className="clip">{chat.title ?? 'Empty chat'}</span>
                {chat.isRunning && <span className="dot" role="img" aria-label="running" />}
              </a>
            </li>
          ))}
        </ul>
      </nav>
      {id === null ? (
        <Landing me={me} kind={kind} onOpen={open} />
      ) : (
        <View key={id} me={me} id={id} onChange={refresh} onOpen={open} />
      )}
    </div>
  );
}

function Landing({ me, kind, onOpen }: { me: Me; kind: ChatKind; onOpen: (id: string) => void }): ReactNode {
  const [error, setError] = useState<unknown>(null);
  const [isStarting, setStarting] = useState(false);
  const begin = async (text: string): Promise<void> => {
    setStarting(true);
    try {
      const { id } = await createChat();
      await kind.begin(me, id, text);
      onOpen(id);
    } catch (cause) {
      setError(cause);
      setStarting(false);
    }
  };
  return (
    <main className="chat">
      <div className="thread landing">
        <h1>How can I help, {me.name.split(' ')[0]}?</h1>
        <div className="suggestions">
          {me.suggestions.map(({ label, text }) => (
            <button key={label} type="button" disabled={isStarting} onClick={() => void begin(text)}>
              {label}
            </button>
          ))}
        </div>
        {error !== null && <Note>{messageOf(error)}</Note>}
      </div>
      <Composer isBusy={false} onSend={(text) => void begin(text)} />
    </main>
  );
}

/** The messages. It stays at its end while a text comes, unless the reader has scrolled up. */
export function Thread({ children }: { children: ReactNode }): ReactNode {
  const box = useRef<HTMLDivElement>(null);
  const isAtEnd = useRef(true);
  useLayoutEffect(() => {
    if (isAtEnd.current) box.current!.scrollTop = box.current!.scrollHeight;
  });
  return (
    <div
      ref={box}
      className="scroll"
      tabIndex={0}
      role="log"
      aria-label="Messages"
      onScroll={({ currentTarget: { scrollTop, scrollHeight, clientHeight } }) => {
        isAtEnd.current = scrollHeight - scrollTop - clientHeight < 60;
      }}
    >
      <div className="thread">{children}</div>
    </div>
  );
}
