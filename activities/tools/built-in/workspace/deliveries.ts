import { checkedFilename } from '../../../../src/files/filename.js';
import { newStorageKey } from '../../../../src/files/storage.js';
import { MAX_FILE_BYTES, type NewFile } from '../../../../src/files/store.js';
import { ServiceError } from '../../../../src/platform/errors.js';
import { isBelow, OUTPUTS } from '../../../../src/workspaces/layout.js';
import { deliveryMark, isFile, type TreeEntry } from '../../../../src/workspaces/manifest.js';
import type { ToolCall } from '../../tool.js';
import { newOutput } from '../delivery.js';

/** Files of the outputs that one call delivers. */
const MAX_DELIVERIES = 20;
/** The oldest marks are forgotten: so many are delivered from a session's outputs only over years. */
const MAX_MARKS = 5000;

export interface Delivery {
  path: string;
  file: NewFile;
}

interface DueDeliveries {
  deliveries: Delivery[];
  refused: { path: string; reason: string }[];
  /** The marks of the workspace, with those of both. */
  marks: string[];
}

/** The files of the outputs whose content was neither delivered nor refused from their path before: in order, at most 20. */
export function dueDeliveries(call: ToolCall, entries: readonly TreeEntry[], before: string[]): DueDeliveries {
  const known = new Set(before);
  const due = entries
    .filter(isFile)
    .filter(({ path }) => isBelow(OUTPUTS, path))
    .map(({ path, size, sha256 }) => ({ path, size, mark: deliveryMark(path, sha256) }))
    .filter(({ mark }) => !known.has(mark))
    .slice(0, MAX_DELIVERIES);
  const deliveries: Delivery[] = [];
  const refused: DueDeliveries['refused'] = [];
  for (const { path, size } of due) {
    const file = newDelivery(call, path, size);
    if ('reason' in file) refused.push({ path, reason: file.reason });
    else deliveries.push({ path, file });
  }
  return { deliveries, refused, marks: addMarks(before, ...due.map(({ mark }) => mark)) };
}

export function addMarks(before: string[], ...marks: string[]): string[] {
  return marks.length === 0 ? before : [...before, ...marks].slice(-MAX_MARKS);
}

/** A new file with the content of a file of the workspace, or the reason why it cannot be delivered. */
export function newDelivery({ turn }: ToolCall, name: string, size: number): NewFile | { reason: string } {
  if (size > MAX_FILE_BYTES) return { reason: 'it is larger than 100 MiB' };
  try {
    return newOutput(turn, checkedFilename(name), size, newStorageKey('files', turn.projectId));
  } catch (error) {
    if (!(error instanceof ServiceError)) throw error;
    return { reason: error.message };
  }
}

/** The line of a result for a file that was not delivered. */
export function notDelivered(path: string, reason: string): string {
  return `[not delivered: ${path.replace(/\p{Cc}/gu, '?')}: ${reason}]`;
}
