import { MIB } from '../platform/units.js';

/** The paths of a workspace as commands see them (docs/workspace.md, "Layout"). */
export const WORKSPACE = '/workspace';
export const HOME = '/home/agent';
export const OUTPUTS = '/mnt/session/outputs';
export const UPLOADS = '/mnt/session/uploads';
export const SKILLS = '/mnt/skills';

/** The folders whose content is kept, in the order of their paths, each with the name of its folder in a tree on disk. */
export const KEPT_FOLDERS = [
  { path: HOME, name: 'home', mode: 0o755 },
  { path: OUTPUTS, name: 'outputs', mode: 0o755 },
  { path: '/tmp', name: 'tmp', mode: 0o1777 },
  { path: WORKSPACE, name: 'workspace', mode: 0o755 },
] as const;

/** Limits of a tree (docs/limits.md). */
export const MAX_ENTRIES = 20_000;
export const MAX_PATH_BYTES = 1024;
/** Of a link. */
export const MAX_TARGET_BYTES = 1024;
/** Paths and targets of a tree together, as JSON has them: what a list of the tree takes in memory follows from it. */
export const MAX_NAME_BYTES = 8 * MIB;

/** True if `path` is below `folder`. */
export function isBelow(folder: string, path: string): boolean {
  return path.startsWith(folder === '/' ? '/' : `${folder}/`);
}
