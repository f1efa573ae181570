import { useEffect, useMemo, useState } from 'preact/hooks';
import { Empty } from '../parts/empty.js';
import { ErrorNote } from '../parts/error-note.js';
import { Icon } from '../parts/icon.js';
import { useRoute } from '../route.js';
import { useTheme } from '../shell/theme.js';
import { ThemeChoice } from '../shell/theme-choice.js';
import { entriesOf, type PlacedOperation, type OpenApi } from './document.js';
import { GuideView } from './guide-view.js';
import { GUIDES } from './guide-list.js';
import { OperationView } from './operation-view.js';

/** The reference of the API, from its OpenAPI document, and the guides. */
export function Docs() {
  const { segments } = useRoute();
  const [theme, setTheme] = useTheme();
  const [document, setDocument] = useState<OpenApi | null>(null);
  const [error, setError] = useState<unknown>(null);
  const [text, setText] = useState('');
  const [isOpen, setOpen] = useState(false);
  useEffect(() => {
    fetch(new URL('openapi.json', new URL('.', location.href)))
      .then(async (response) => setDocument((await response.json()) as OpenApi))
      .catch(setError);
  }, []);
  const entries = useMemo(() => (document === null ? [] : entriesOf(document)), [document]);
  const [kind = '', name = ''] = segments;
  useEffect(() => {
    scrollTo(0, 0);
    setOpen(false);
  }, [kind, name]);
  const entry = entries.find(({ operation }) => operation.operationId === name);
  const wanted = text.trim().toLowerCase();
  const isWanted = (words: string): boolean => words.toLowerCase().includes(wanted);
  const found = entries.filter(({ path, operation }) =>
    isWanted(`${operation.summary} ${path} ${operation.operationId}`),
  );
  return (
    <>
      <header class={isOpen ? 'side docs-side open' : 'side docs-side'}>
        <div class="docs-brand">
          <a class="brand" href="#/">
            Agent sessions <span class="tag">API</span>
          </a>
          <button class="docs-menu" aria-expanded={isOpen} onClick={() => setOpen(!isOpen)}>
            {isOpen ? 'Close' : 'Contents'}
          </button>
        </div>
        <label class="search">
          <Icon name="search" />
          <span class="visually-hidden">Search the reference</span>
          <input
            type="search"
            placeholder="Search"
            value={text}
            onInput={(event) => setText(event.currentTarget.value)}
          />
        </label>
        <nav aria-label="Documentation">
          <h2>Guides</h2>
          {GUIDES.filter(([, title]) => isWanted(title)).map(([id, title]) => (
            <a
              key={id}
              class="place"
              href={`#/guides/${id}`}
              aria-current={kind === 'guides' && name === id ? 'page' : undefined}
            >
              {title}
            </a>
          ))}
          {(document?.tags ?? []).map((tag) => (
            <Operations key={tag.name} tag={tag.name} entries={found} current={name} />
          ))}
        </nav>
        <div class="grow" />
        <ThemeChoice theme={theme} onTheme={setTheme} />
      </header>
      <div class="page">
        <main id="main" tabIndex={-1}>
          <ErrorNote error={error} />
          {document !== null && entry !== undefined && <OperationView entry={entry} document={document} />}
          {kind === 'guides' && <GuideView key={name} name={name} />}
          {kind !== 'guides' && entry === undefined && document !== null && (
            <Home document={document} isUnknown={kind !== ''} />
          )}
        </main>
      </div>
    </>
  );
}

function Operations({ tag, entries, current }: { tag: string; entries: PlacedOperation[]; current: string }) {
  const own = entries.filter(({ operation }) => operation.tags.includes(tag));
  if (own.length === 0) return null;
  return (
    <>
      <h2>{tag}</h2>
      {own.map(({ method, path, operation: { operationId, summary } }) => (
        <a
          key={operationId}
          class="place"
          href={`#/operations/${operationId}`}
          data-path={path}
          title={`${method} ${path}`}
          aria-current={operationId === current ? 'page' : undefined}
        >
          <span class={`method ${method.toLowerCase()}`}>{method === 'DELETE' ? 'DEL' : method}</span>
          <span class="clip">{summary}</span>
        </a>
      ))}
    </>
  );
}

function Home({ document, isUnknown }: { document: OpenApi; isUnknown: boolean }) {
  return (
    <>
      <h1>Agent Session Service</h1>
      {isUnknown && (
        <Empty title="There is no such page">The search at the left finds operations and guides by their names.</Empty>
      )}
      <p class="lead">
        Conversations with an agent, over HTTP. Version {document.info.version}. Begin with the{' '}
        <a href="#/guides/quick-start">quick start</a>, or look at a session in <a href="console/">the console</a>.
      </p>
      <div class="tiles">
        {(
          [
            ['createSession', 'Create a session', 'Model, instruction, tools and budget'],
            ['sendMessage', 'Send a message', 'Queues a turn and answers at once'],
            ['streamEvents', 'Follow it', 'Text while it is written, resumable'],
            ['listTimelineEntries', 'See where the time went', 'Each model call, tool and wait of a turn'],
          ] as const
        ).map(([id, title, words]) => (
          <a key={id} class="tile" href={`#/operations/${id}`}>
            <strong>{title}</strong>
            <span class="hint">{words}</span>
          </a>
        ))}
      </div>
      <p>
        The document for generators: <a href="openapi.json">openapi.json</a>.
      </p>
    </>
  );
}
