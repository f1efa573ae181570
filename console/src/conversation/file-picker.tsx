import { useState } from 'preact/hooks';
import { useClient } from '../client/service.js';
import { useList } from '../client/use-list.js';
import { formatBytes } from '../parts/format.js';
import { ListFrame } from '../parts/list-frame.js';
import { usePopover } from '../parts/use-popover.js';
import type { AttachmentList } from './attachments.js';

export function FilePicker({ attachments }: { attachments: AttachmentList }) {
  const [open, setOpen] = useState(false);
  const popover = usePopover();
  return (
    <details ref={popover} class="picker" onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary class="button quiet">Project files</summary>
      <fieldset>
        <legend>Attach a file of the project</legend>
        {open && <ProjectFiles attachments={attachments} />}
      </fieldset>
    </details>
  );
}

function ProjectFiles({ attachments: { fileIds, attach } }: { attachments: AttachmentList }) {
  const client = useClient();
  const list = useList((cursor, signal) => client.listFiles({ cursor, limit: 20 }, { signal }), [client]);
  return (
    <ListFrame
      list={list}
      label="Files of the project"
      empty={<p class="hint">The project has no files yet.</p>}
      row={(file) => (
        <li key={file.id} class="row">
          <span class="row-title">{file.filename}</span>
          <span class="hint">{formatBytes(file.size_bytes)}</span>
          <button type="button" class="quiet" disabled={fileIds.includes(file.id)} onClick={() => attach(file)}>
            Attach<span class="visually-hidden"> {file.filename}</span>
          </button>
        </li>
      )}
    />
  );
}
