import { useState } from 'preact/hooks';
import type { Skill, SkillFile } from '../../../client/src/index.js';
import { useClient } from '../client/service.js';
import { useList } from '../client/use-list.js';
import { FileContent, MAX_PREVIEW_BYTES } from '../files/file-content.js';
import { ErrorNote } from '../parts/error-note.js';
import { formatBytes } from '../parts/format.js';

const IMAGE_TYPES: Record<string, string> = {
  png: 'image/png',
  jpg: 'image/jpeg',
  jpeg: 'image/jpeg',
  gif: 'image/gif',
  webp: 'image/webp',
};

/** What the agent finds in a skill. `SKILL.md` is open at first. */
export function SkillFiles({ skill }: { skill: Skill }) {
  const client = useClient();
  const list = useList(
    (cursor, signal) => client.listSkillFiles(skill.id, { cursor, limit: 100 }, { signal }),
    [client, skill.id],
  );
  return (
    <div class="row-more skill-files">
      <ErrorNote error={list.error} />
      {list.items === null && list.error === null && <p class="hint">Reading …</p>}
      <ul class="plain" aria-label={`Files of ${skill.name}`}>
        {list.items?.map((file) => (
          <File key={file.path} skill={skill} file={file} />
        ))}
      </ul>
      {list.hasMore && (
        <button type="button" disabled={list.busy} onClick={list.loadMore}>
          Show more
        </button>
      )}
    </div>
  );
}

function File({ skill, file: { path, size_bytes } }: { skill: Skill; file: SkillFile }) {
  const client = useClient();
  const [isOpen, setOpen] = useState(path === 'SKILL.md');
  return (
    <li>
      <details open={isOpen} onToggle={(event) => setOpen(event.currentTarget.open)}>
        <summary>
          <code>{path}</code> <span class="hint">{formatBytes(size_bytes)}</span>
        </summary>
        {isOpen && size_bytes > MAX_PREVIEW_BYTES && <p class="hint">The file is too large to show.</p>}
        {isOpen && size_bytes <= MAX_PREVIEW_BYTES && (
          <FileContent
            name={path}
            sizeBytes={size_bytes}
            image={IMAGE_TYPES[path.split('.').at(-1)!.toLowerCase()] ?? null}
            read={(signal) => client.skillContent(skill.id, path, { signal })}
          />
        )}
      </details>
    </li>
  );
}
