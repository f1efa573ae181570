import { described } from '../../src/platform/object-schema.js';
import { text } from '../../src/platform/schema-fields.js';
import type { TreeEntry } from '../../src/workspaces/manifest.js';
import { presented } from '../http/core/presenter.js';

const { schema, present } = presented(
  'WorkspaceFile',
  'A file, folder or link of a workspace.',
  {
    path: described(text, 'Its absolute path.'),
    type: {
      $id: 'WorkspaceFileType',
      type: 'string',
      enum: ['file', 'directory', 'symlink'],
      description: 'What it is.',
    },
    size_bytes: {
      type: ['integer', 'null'],
      format: 'int64',
      minimum: 0,
      description: 'Its size in bytes; null except of files.',
    },
    mode: { type: 'string', pattern: '^0[0-7]{3}$', description: 'Its permission bits, such as `0644`.' },
    modified_at: {
      type: ['string', 'null'],
      format: 'date-time',
      description: 'When its content was changed, by the clock of the command; null except of files.',
    },
    sha256: {
      type: ['string', 'null'],
      pattern: '^[0-9a-f]{64}$',
      description: 'SHA-256 of its content in hex; null except of files.',
    },
    target: { type: ['string', 'null'], description: 'Where a link leads, as it is written; null except of links.' },
  },
  {
    path: '/workspace/report.csv',
    type: 'file',
    size_bytes: 11,
    mode: '0644',
    modified_at: '2026-11-21T09:48:03.123000Z',
    sha256: '5891b5b522d5df086d0ff0b110fbd9d21bb4fc7163af34d08286a2e846f6be03',
    target: null,
  },
);

export const workspaceFileSchema = schema;

export function presentEntry(entry: TreeEntry): object {
  const isFile = entry.kind === 'file';
  return present({
    path: entry.path,
    type: entry.kind,
    size_bytes: isFile ? entry.size : null,
    // A link has all rights: those of its target count.
    mode: `0${(entry.kind === 'symlink' ? 0o777 : entry.mode).toString(8).padStart(3, '0')}`,
    modified_at: isFile ? timeOf(entry.mtime) : null,
    sha256: isFile ? entry.sha256 : null,
    target: entry.kind === 'symlink' ? entry.target : null,
  });
}

/** A command can give a file any time, such as the year 20000. */
function timeOf(ms: number): string {
  const time = Math.min(Math.max(ms, EARLIEST), LATEST);
  return `${new Date(time).toISOString().slice(0, -1)}000Z`;
}

const EARLIEST = Date.parse('0001-01-01T00:00:00.000Z');
const LATEST = Date.parse('9999-12-31T23:59:59.999Z');
