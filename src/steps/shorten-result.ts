import type { Db } from '../db/db.js';
import { runSql, sql } from '../db/sql.js';
import { write } from '../db/transaction.js';
import { storageKey, type Storage } from '../files/storage.js';
import { exactText } from '../platform/exact-json.js';
import { isStorableText, truncateUtf8 } from '../platform/text.js';
import { textOf, type AssistantBlock, type ResultBlock } from '../models/content.js';
import { changeTurn, ifRunning, type TurnDeps } from '../turns/change-turn.js';

/** read_file splits a longer line into several, so that minified code and data stay readable to the end. */
export const MAX_LINE = 4000;

/** The model gets a preview of a longer result; the full text is in the file storage. */
export const MAX_WHOLE_BYTES = 48 * 1024;
const PREVIEW_BYTES = 16 * 1024;

interface ResultKey {
  turnId: string;
  step: number;
  index: number;
  toolUseId: string;
}

interface ShortenedResult {
  content: ResultBlock[];
  /** Key of the object with the full text. */
  overflowKey: string;
}

/**
 * Cuts a result's text to `keepBytes` and adds how to read the rest. The full text goes to file storage, unless an
 * earlier shortening already stored it (`storedKey`).
 * @param keepEnd bytes that are kept of its end
 */
export async function shortenResult(
  storage: Storage,
  call: ResultKey,
  content: ResultBlock[],
  keepBytes: number,
  storedKey: string | null,
  keepEnd = 0,
): Promise<ShortenedResult> {
  const text = textOf(content);
  const overflowKey = storedKey ?? storageKey('results', call.turnId, `${call.step}-${call.index}`);
  if (storedKey === null) {
    const bytes = Buffer.from(text);
    await storage.put(overflowKey, bytes, { contentType: 'text/plain; charset=utf-8', size: bytes.length });
  }
  const shown = truncateUtf8(text, keepBytes);
  const id = JSON.stringify(call.toolUseId);
  const note =
    shown === ''
      ? `[Left out to save room. read_file {"file_id": ${id}} shows it again.]`
      : `${shown}\n\n[The first ${Buffer.byteLength(shown)} bytes${storedKey === null ? ` of ${Buffer.byteLength(text)}` : ''}. ` +
        `Read on with read_file {"file_id": ${id}, "offset": ${linesOf(shown)}}.]${end(text, keepEnd)}`;
  return { content: [{ type: 'text', text: note }], overflowKey };
}

/**
 * Shortens a new result that is too long to be given to the model whole.
 * @param endBytes bytes of its end that are kept
 */
export async function limitResult(
  storage: Storage,
  call: ResultKey & { name: string },
  content: ResultBlock[],
  endBytes = 0,
): Promise<{ content: ResultBlock[]; overflowKey: string | null }> {
  if (Buffer.byteLength(textOf(content)) <= MAX_WHOLE_BYTES) return { content, overflowKey: null };
  // Of what a command writes the end matters as much: errors are there.
  const [keepBytes, keepEnd] =
    call.name === 'bash' ? [PREVIEW_BYTES / 2, PREVIEW_BYTES / 2] : [PREVIEW_BYTES, Math.min(endBytes, PREVIEW_BYTES)];
  const { content: preview, overflowKey } = await shortenResult(storage, call, content, keepBytes, null, keepEnd);
  return { content: [...preview, ...content.filter((block) => block.type !== 'text')], overflowKey };
}

/** The end of a text, where it is kept. */
function end(text: string, bytes: number): string {
  if (bytes === 0) return '';
  const kept = Buffer.from(text).subarray(-bytes);
  // Not from within a character.
  const start = kept.findIndex((byte) => (byte & 0xc0) !== 0x80);
  return `\n\n[Its last ${kept.length - start} bytes:]\n${kept.toString('utf8', start)}`;
}

/** Number of whole lines in a preview, counted as read_file does. */
function linesOf(preview: string): number {
  return preview
    .split('\n')
    .map((line, index, { length }) => {
      const isLast = index === length - 1;
      return isLast ? Math.floor(line.length / MAX_LINE) : Math.max(1, Math.ceil(line.length / MAX_LINE));
    })
    .reduce((sum, lines) => sum + lines, 0);
}

/** Results and contents of a turn's steps to store in a shorter form. */
interface ShortenedSteps {
  results: (ShortenedResult & Pick<ResultKey, 'step' | 'index'>)[];
  contents: { step: number; content: AssistantBlock[] }[];
}

const SHORTEN_RESULTS = `
  UPDATE tool_calls c SET content = short.content, overflow_key = short.key
  FROM unnest($2::integer[], $3::integer[], $4::json[], $5::text[]) AS short (step, index, content, key)
  WHERE turn_id = $1 AND c.step = short.step AND c.index = short.index`;
const SHORTEN_CONTENTS = `
  UPDATE model_steps s SET content = short.content FROM unnest($2::integer[], $3::json[]) AS short (step, content)
  WHERE turn_id = $1 AND s.step = short.step`;

/** Replaces results and contents of a running turn by a shorter form, for all later requests to the model. */
export async function storeShortenedSteps(
  deps: TurnDeps,
  turnId: string,
  { results, contents }: ShortenedSteps,
): Promise<void> {
  const shortResults = [
    ...[results.map(({ step }) => step), results.map(({ index }) => index)],
    ...[results.map(({ content }) => JSON.stringify(content)), results.map(({ overflowKey }) => overflowKey)],
  ];
  const shortContents = [contents.map(({ step }) => step), contents.map(({ content }) => exactText(content))];
  await changeTurn(deps, turnId, ifRunning, (_turn, tx) => {
    write(tx, SHORTEN_RESULTS, [turnId, ...shortResults]);
    write(tx, SHORTEN_CONTENTS, [turnId, ...shortContents]);
  });
}

export async function findShortenedResult(
  db: Db,
  sessionId: string,
  toolUseId: string,
): Promise<{ overflow_key: string; name: string } | null> {
  // The model invented the id. Postgres would refuse such text.
  if (!isStorableText(toolUseId)) return null;
  const [row] = await runSql<{ overflow_key: string; name: string }>(
    db,
    sql`SELECT overflow_key, name FROM tool_calls JOIN turns ON turns.id = turn_id
        WHERE session_id = ${sessionId} AND tool_use_id = ${toolUseId} AND overflow_key IS NOT NULL
        ORDER BY number DESC LIMIT 1`,
  );
  return row ?? null;
}
