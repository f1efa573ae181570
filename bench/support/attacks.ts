import { setTimeout as pause } from 'node:timers/promises';
import { openSse } from '../../test/support/sse-reader.js';
import { MIB } from '../../src/platform/units.js';
import { newSession, runTurn, uploadImages, type Caller } from './hostile-system.js';

/** How often each answer came. */
export function tally(answers: string[]): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const answer of answers) counts[answer] = (counts[answer] ?? 0) + 1;
  return counts;
}

/** Turns with 13 MB of images each, all at once. Returns how each ended. */
export async function imageTurns(call: Caller, count: number): Promise<string[]> {
  const files = await uploadImages(call);
  const sessions = await Promise.all(Array.from({ length: count }, () => newSession(call)));
  return Promise.all(sessions.map((session) => runTurn(call, session, files)));
}

/** Lists of long sessions, probes, readiness, uploads and streams at once. Returns every answer's name and status. */
export async function pressApi(
  call: Caller,
  { url, key, mcpUrl, streams }: { url: string; key: string; mcpUrl: string; streams: number },
): Promise<string[]> {
  const server = await call('POST', '/v1/mcp-servers', { name: `s${Date.now()}`, url: mcpUrl });
  await Promise.all(Array.from({ length: 100 }, () => newSession(call, { instruction: 'x'.repeat(100_000) })));
  const session = await newSession(call);
  const open = await Promise.all(
    Array.from({ length: streams }, () => openSse(`${url}/v1/sessions/${session}/events/stream`, key)),
  );
  const work: Promise<string>[] = [];
  const named = async (name: string, answer: Promise<{ status: number }>): Promise<string> =>
    `${name} ${(await answer).status}`;
  for (let round = 0; round < 20; round += 1) {
    work.push(named('list', call('GET', '/v1/sessions?limit=100')));
    work.push(named('probe', call('POST', `/v1/mcp-servers/${server.body.id}/probe`)));
    work.push(named('readyz', fetch(`${url}/readyz`)));
    work.push(named('upload', upload(call, 20 * MIB)));
    await pause(50);
  }
  const statuses = await Promise.all(work);
  for (const stream of open) stream.close();
  await call('DELETE', `/v1/mcp-servers/${server.body.id}`);
  return [...open.map(({ status }) => `stream ${status}`), ...statuses];
}

function upload(call: Caller, bytes: number): Promise<{ status: number }> {
  const form = new FormData();
  form.set('file', new Blob([new Uint8Array(bytes)]), 'large.bin');
  return call('POST', '/v1/files', form);
}
