import type { WorkspaceFile } from '../../../client/src/index.js';

export interface TreeNode {
  entry: WorkspaceFile;
  name: string;
  /** Of a folder; empty of everything else. */
  children: TreeNode[];
}

/**
 * The entries below `root` as a tree. They come in the order of their paths, so that a folder is there before what is in it; where
 * the tree changed between two pages and a folder is missing, its entries stand at the top under their longer names.
 */
export function treeOf(root: string, entries: readonly WorkspaceFile[]): TreeNode[] {
  const top: TreeNode[] = [];
  const folders = new Map<string, TreeNode>();
  for (const entry of entries) {
    const slash = entry.path.lastIndexOf('/');
    const parent = folders.get(entry.path.slice(0, slash));
    const name = entry.path.slice(parent === undefined ? root.length + 1 : slash + 1);
    const node = { entry, name, children: [] };
    (parent?.children ?? top).push(node);
    if (entry.type === 'directory') folders.set(entry.path, node);
  }
  return top;
}

/** `notes.txt` of `/workspace/notes.txt`. */
export function lastSegment(path: string): string {
  return path.slice(path.lastIndexOf('/') + 1);
}
