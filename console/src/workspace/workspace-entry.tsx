import { useEffect, useRef } from 'preact/hooks';
import type { WorkspaceFile } from '../../../client/src/index.js';
import { useClient } from '../client/service.js';
import { FileContent, MAX_PREVIEW_BYTES } from '../files/file-content.js';
import { CopyText } from '../parts/copy-text.js';
import { formatBytes } from '../parts/format.js';
import { Time } from '../parts/time.js';
import { SaveButton } from './save-button.js';
import { lastSegment } from './tree.js';

interface Props {
  sessionId: string;
  /** A file or a folder. */
  entry: WorkspaceFile;
  onShowFolder: (path: string) => void;
}

const IMAGES: Record<string, string> = {
  png: 'image/png',
  jpg: 'image/jpeg',
  jpeg: 'image/jpeg',
  gif: 'image/gif',
  webp: 'image/webp',
};

/** What was chosen in the tree: a file with a preview, or a folder, each with its download. */
export function WorkspaceEntry({ sessionId, entry, onShowFolder }: Props) {
  const client = useClient();
  const { path, size_bytes: size, mode, modified_at: at, sha256 } = entry;
  const name = lastSegment(path);
  const box = useRef<HTMLDivElement>(null);
  useEffect(() => box.current?.scrollIntoView({ block: 'nearest' }), []);
  return (
    <div class="tree-entry" ref={box}>
      <h3>
        <CopyText text={path} label="path" />
      </h3>
      <p class="hint">
        {size !== null && `${formatBytes(size)} · `}
        {mode}
        {at !== null && (
          <>
            {' · changed '}
            <Time at={at} />
          </>
        )}
      </p>
      <div class="actions">
        {entry.type === 'directory' ? (
          <>
            <SaveButton
              label="Download folder as ZIP"
              subject={path}
              filename={`${name}.zip`}
              read={() => client.workspaceArchive(sessionId, { path })}
            />
            <button type="button" class="quiet" onClick={() => onShowFolder(path)}>
              Show only this folder
            </button>
          </>
        ) : (
          <SaveButton
            label="Download"
            subject={path}
            filename={name}
            read={() => client.workspaceContent(sessionId, path)}
          />
        )}
      </div>
      {size !== null && size > MAX_PREVIEW_BYTES && <p class="hint">It is too large for a preview.</p>}
      {size !== null && size <= MAX_PREVIEW_BYTES && (
        <FileContent
          key={sha256}
          name={name}
          sizeBytes={size}
          image={IMAGES[name.slice(name.lastIndexOf('.') + 1).toLowerCase()] ?? null}
          read={(signal) => client.workspaceContent(sessionId, path, { signal })}
        />
      )}
    </div>
  );
}
