import { useState } from 'preact/hooks';
import { formatBytes } from '../parts/format.js';
import { Icon } from '../parts/icon.js';
import type { TreeNode } from './tree.js';

interface Props {
  nodes: TreeNode[];
  label: string;
  /** Path of the entry that is shown in full. */
  chosen: string | null;
  onChoose: (path: string) => void;
}

/** Folders open and close; only what is open is on the page. */
export function WorkspaceTree({ nodes, label, chosen, onChoose }: Props) {
  const [open, setOpen] = useState<ReadonlySet<string>>(new Set());
  const toggle = (path: string): void => {
    const next = new Set(open);
    if (!next.delete(path)) next.add(path);
    setOpen(next);
    onChoose(path);
  };
  const rows = (level: TreeNode[], name?: string) => (
    <ul aria-label={name}>
      {level.map((node) => {
        const { entry, children } = node;
        const isOpen = open.has(entry.path);
        const isChosen = entry.path === chosen ? 'true' : undefined;
        return (
          <li key={entry.path}>
            {entry.type === 'symlink' ? (
              <span class="tree-row">
                <Icon name="link" size={14} />
                <span class="clip">{node.name}</span>
                <span class="hint clip">→ {entry.target}</span>
              </span>
            ) : entry.type === 'directory' ? (
              <button
                type="button"
                class="tree-row"
                aria-expanded={isOpen}
                aria-current={isChosen}
                onClick={() => toggle(entry.path)}
              >
                <Icon name="next" size={14} />
                <span class="clip">{node.name}/</span>
              </button>
            ) : (
              <button type="button" class="tree-row" aria-current={isChosen} onClick={() => onChoose(entry.path)}>
                <Icon name="file" size={14} />
                <span class="clip">{node.name}</span>
                <span class="hint">{formatBytes(entry.size_bytes!)}</span>
              </button>
            )}
            {isOpen && children.length > 0 && rows(children)}
            {isOpen && children.length === 0 && <p class="hint tree-empty">empty</p>}
          </li>
        );
      })}
    </ul>
  );
  return <div class="tree">{rows(nodes, label)}</div>;
}
