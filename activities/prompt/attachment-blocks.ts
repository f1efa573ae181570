import type { Database } from '../../src/db/db.js';
import type { FileSnapshot } from '../../src/events/fields.js';
import { findFiles, type FileRow } from '../../src/files/store.js';
import type { Storage } from '../../src/files/storage.js';
import { nativeBlock, unlessMissing } from '../../src/files/native-block.js';
import { describeFile } from '../../src/steps/session-files.js';
import type { MediaRefusals } from '../../src/steps/refused-media.js';
import type { ResultBlock } from '../../src/models/content.js';
import { MIB } from '../../src/platform/units.js';

/**
 * Limits for the attachments one message shows; the model can read the others with read_file. In base64 these stay well
 * below a request's 32 MB.
 */
const MAX_SHOWN = 20;
const MAX_BYTES = 16 * MIB;

/**
 * Returns blocks for the images and PDFs attached to a message, by reference. An attachment that is deleted, over the
 * limits or refused by the model's API becomes a line of text (decisions.md "Turns and events", "An attachment that …"). Other files
 * have no block: the message names them.
 * @throws ServiceError `storage_error` while the storage is unreachable
 */
export async function attachmentBlocks(
  db: Database,
  storage: Storage,
  { projectId, files }: { projectId: string; files: FileSnapshot[] },
  refusals: MediaRefusals | null,
): Promise<ResultBlock[]> {
  if (files.length === 0) return [];
  const rows = await findFiles(
    db,
    projectId,
    files.map(({ id }) => id),
  );
  const room = { files: MAX_SHOWN, bytes: MAX_BYTES };
  const blocks: ResultBlock[] = [];
  for (const file of files) {
    const row = rows.find(({ id }) => id === file.id);
    const block = row === undefined ? 'it was deleted' : await shown(storage, row, room, refusals);
    if (typeof block === 'string')
      blocks.push({ type: 'text', text: `[${describeFile(file)} is not shown: ${block}.]` });
    else if (block !== null) blocks.push(block);
  }
  return blocks;
}

async function shown(
  storage: Storage,
  row: FileRow,
  room: { files: number; bytes: number },
  refusals: MediaRefusals | null,
): Promise<ResultBlock | string | null> {
  const block = await unlessMissing(nativeBlock(storage, row));
  if (block === 'missing') return 'its content is lost';
  if (block === null || typeof block === 'string') return block;
  if (refusals?.has(block) === true) return 'the model’s API refused it';
  if (room.files === 0 || row.size_bytes > room.bytes) return 'there is too much to show at once; read_file shows it';
  room.files -= 1;
  room.bytes -= row.size_bytes;
  return block;
}
