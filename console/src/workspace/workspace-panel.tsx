import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import type { AgentSessionClient, Page, Session, WorkspaceFile } from '../../../client/src/index.js';
import { useClient } from '../client/service.js';
import { useList } from '../client/use-list.js';
import { useLoad } from '../client/use-load.js';
import type { Turn } from '../conversation/conversation-log.js';
import { Facts } from '../inspector/facts.js';
import { Empty } from '../parts/empty.js';
import { ErrorNote } from '../parts/error-note.js';
import { SelectField } from '../parts/fields.js';
import { formatBytes, formatNumber } from '../parts/format.js';
import { Time } from '../parts/time.js';
import { SaveButton } from './save-button.js';
import { lastSegment, treeOf } from './tree.js';
import { WorkspaceEntry } from './workspace-entry.js';
import { WorkspaceTree } from './workspace-tree.js';
import { workspaceVersion } from './workspace-version.js';

/** The folders that a workspace keeps. */
const FOLDERS = ['/workspace', '/mnt/session/outputs', '/home/agent', '/tmp'];
const PAGE_SIZE = 100;
/** As many entries are read at once; the rest on request. */
const READ_AT_ONCE = 500;

/** The files of a session's workspace, as the newest stored version has them. */
export function WorkspacePanel({ session, turns }: { session: Session; turns: readonly Turn[] }) {
  const client = useClient();
  const version = workspaceVersion(session, turns);
  const { value, error } = useLoad(
    (signal) => client.getSession(session.id, { signal }),
    [client, session.id, version],
  );
  const workspace = value?.workspace ?? session.workspace!;
  const [root, setRoot] = useState(FOLDERS[0]!);
  const options = [...new Set([...FOLDERS, root])].map((path) => [path, path] as const);
  return (
    <section class="tab-panel workspace" aria-label="Workspace" tabIndex={0}>
      <ErrorNote error={error} />
      <Facts
        facts={[
          ['Version', formatNumber(workspace.version)],
          ['Size', formatBytes(workspace.size_bytes)],
          ['Files', formatNumber(workspace.file_count)],
          ['Updated', workspace.updated_at === null ? 'never yet' : <Time at={workspace.updated_at} />],
        ]}
      />
      <SelectField label="Folder" value={root} options={options} onChange={setRoot} />
      <Files key={root} sessionId={session.id} root={root} version={version} onShowFolder={setRoot} />
    </section>
  );
}

interface FilesProps {
  sessionId: string;
  root: string;
  version: number;
  onShowFolder: (path: string) => void;
}

/** What is below one folder, and what was chosen there. */
function Files({ sessionId, root, version, onShowFolder }: FilesProps) {
  const client = useClient();
  const [chosen, setChosen] = useState<string | null>(null);
  const list = useList(
    (cursor, signal) => listEntries(client, sessionId, root, cursor, signal),
    [client, sessionId, root],
  );
  useReloadWith(version, list.reload);
  const tree = useMemo(() => treeOf(root, list.items ?? []), [root, list.items]);
  const entry = list.items?.find(({ path }) => path === chosen);
  return (
    <>
      <ErrorNote error={list.error} />
      {list.items === null && list.error === null && <p class="hint">Loading …</p>}
      {list.items?.length === 0 && (
        <Empty title="This folder is empty" icon="folder">
          What the agent’s commands write appears here when they have ended.
        </Empty>
      )}
      {tree.length > 0 && (
        <>
          <WorkspaceTree nodes={tree} label={`Files in ${root}`} chosen={chosen} onChoose={setChosen} />
          <div class="actions">
            {list.hasMore && (
              <button type="button" disabled={list.busy} onClick={list.loadMore}>
                Show more
              </button>
            )}
            <SaveButton
              label="Download folder as ZIP"
              subject={root}
              filename={`${lastSegment(root)}.zip`}
              read={() => client.workspaceArchive(sessionId, { path: root })}
            />
          </div>
        </>
      )}
      {entry !== undefined && (
        <WorkspaceEntry key={entry.path} sessionId={sessionId} entry={entry} onShowFolder={onShowFolder} />
      )}
    </>
  );
}

/** A few pages of the API as one. */
async function listEntries(
  client: AgentSessionClient,
  sessionId: string,
  path: string,
  from: string | undefined,
  signal: AbortSignal,
): Promise<Page<WorkspaceFile>> {
  const items: WorkspaceFile[] = [];
  let cursor: string | null | undefined = from;
  do {
    const query = { path, limit: PAGE_SIZE, ...(cursor && { cursor }) };
    const page: Page<WorkspaceFile> = await client.listWorkspaceFiles(sessionId, query, { signal });
    items.push(...page.items);
    cursor = page.meta.next_cursor;
  } while (cursor !== null && items.length < READ_AT_ONCE);
  return { items, meta: { next_cursor: cursor } };
}

/** The list stands as it is until the newer one has come. */
function useReloadWith(version: number, reload: () => void): void {
  const shown = useRef(version);
  useEffect(() => {
    if (shown.current === version) return;
    shown.current = version;
    reload();
  }, [version]);
}
