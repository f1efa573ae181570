import { useState } from 'preact/hooks';
import type { MemoryFile, MemoryVersion } from '../../../client/src/index.js';
import { useClient } from '../client/service.js';
import { useList } from '../client/use-list.js';
import { useLoad } from '../client/use-load.js';
import { CodeBlock } from '../parts/code-block.js';
import { ConfirmButton } from '../parts/confirm-button.js';
import { CopyText } from '../parts/copy-text.js';
import { Empty } from '../parts/empty.js';
import { ErrorNote } from '../parts/error-note.js';
import { countOf, formatBytes } from '../parts/format.js';
import { Icon } from '../parts/icon.js';
import { ListFrame } from '../parts/list-frame.js';
import { PageHead, UnreadPage } from '../parts/page-head.js';
import { Time } from '../parts/time.js';
import { navigate } from '../route.js';
import { ownerOf } from './memories-view.js';
import { VersionChange } from './version-change.js';

/** The files of a memory, and what became of them. */
export function MemoryView({ id }: { id: string }) {
  const client = useClient();
  const [changes, setChanges] = useState(0);
  const { value: memory, error } = useLoad((signal) => client.getMemory(id, { signal }), [client, id, changes]);
  const { value: files } = useLoad(
    (signal) => Array.fromAsync(client.eachMemoryFile(id, {}, { signal })),
    [client, id, changes],
  );
  const [path, setPath] = useState<string | null>(null);
  if (memory === null) return <UnreadPage title="Memory" error={error} />;
  const erase = async (): Promise<void> => {
    await client.deleteMemory(id);
    navigate('/memories');
  };
  const eraseFile = async (): Promise<void> => {
    await client.deleteMemoryFiles(id, { path: path! });
    setPath(null);
    setChanges((count) => count + 1);
  };
  return (
    <>
      <PageHead title={ownerOf(memory)} back="#/memories">
        {path !== null && (
          <ConfirmButton label="Erase file" question={`Erase ${path} with all its versions?`} onConfirm={eraseFile} />
        )}
        <ConfirmButton label="Erase" question={`Erase the memory of ${ownerOf(memory)}?`} onConfirm={erase}>
          <p>Its files and all versions are gone for good. Sessions keep their events.</p>
        </ConfirmButton>
      </PageHead>
      <div class="facts">
        <CopyText text={memory.id} label="memory id" />
        <span>
          {countOf(memory.file_count, 'file')}, {formatBytes(memory.size_bytes)} · version {memory.version}
        </span>
      </div>
      <h2>Files</h2>
      {files?.length === 0 && <Empty title="It has no files">An agent or your back end writes the first one.</Empty>}
      {files !== null && files.length > 0 && <Files files={files} chosen={path} onChoose={setPath} />}
      {path !== null && <Content key={`${path} ${changes}`} id={id} path={path} />}
      <h2>Versions</h2>
      <Versions key={`${path} ${changes}`} id={id} path={path} />
    </>
  );
}

interface FilesProps {
  files: MemoryFile[];
  chosen: string | null;
  onChoose: (path: string | null) => void;
}

function Files({ files, chosen, onChoose }: FilesProps) {
  return (
    <nav class="tree" aria-label="Files of the memory">
      <ul>
        {files.map(({ path, size_bytes: size }) => (
          <li key={path}>
            <button
              type="button"
              class="tree-row"
              aria-current={path === chosen ? 'true' : undefined}
              onClick={() => onChoose(path === chosen ? null : path)}
            >
              <Icon name="file" size={14} />
              <span class="clip">{path}</span>
              <span class="hint">{formatBytes(size)}</span>
            </button>
          </li>
        ))}
      </ul>
    </nav>
  );
}

function Content({ id, path }: { id: string; path: string }) {
  const client = useClient();
  const { value: text, error } = useLoad((signal) => client.memoryContent(id, path, { signal }), [client, id, path]);
  return (
    <>
      <ErrorNote error={error} />
      {text !== null && <CodeBlock text={text} label={path} />}
    </>
  );
}

/** Of one file, or of all. */
function Versions({ id, path }: { id: string; path: string | null }) {
  const client = useClient();
  const list = useList(
    (cursor, signal) =>
      client.listMemoryVersions(id, { cursor, limit: 50, ...(path !== null && { path }) }, { signal }),
    [client, id, path],
  );
  return (
    <ListFrame
      list={list}
      label="Versions"
      empty={<Empty title="No version is kept">Versions are forgotten after some time; files stay.</Empty>}
      row={(version) => <VersionRow key={`${version.version} ${version.path}`} id={id} version={version} />}
    />
  );
}

function VersionRow({ id, version }: { id: string; version: MemoryVersion }) {
  const [isOpen, setOpen] = useState(false);
  const { session_id: sessionId, turn_id: turnId, key_id: keyId } = version.by;
  return (
    <li class="row">
      <span class="row-title">
        {version.version}: {version.path}
      </span>
      <span class="hint">
        {version.change} <Time at={version.created_at} />
      </span>
      {sessionId !== null && <a href={`#/sessions/${sessionId}?turn=${turnId}`}>by a turn</a>}
      {keyId !== null && <span class="hint">by key {keyId}</span>}
      <button type="button" aria-expanded={isOpen} onClick={() => setOpen(!isOpen)}>
        What changed
        <span class="visually-hidden">
          {' '}
          in {version.path} by version {version.version}
        </span>
      </button>
      {isOpen && (
        <div class="row-more">
          <VersionChange id={id} version={version} />
        </div>
      )}
    </li>
  );
}
