import { openSse } from '../../test/support/sse-reader.js';
import { MIB, newSession, runTurn, uploadImages, type Caller } from './hostile-system.js';

const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

/** How often each answer came. */
export type Tally = Record<string, number>;

export function tally(values: (string | number)[]): Tally {
  const counts: Tally = {};
  for (const value of values) counts[value] = (counts[value] ?? 0) + 1;
  return counts;
}

/** Turns with 13 MB of images each, all at once. */
export async function imageTurns(call: Caller, count: number): Promise<Tally> {
  const files = await uploadImages(call);
  const sessions = await Promise.all(Array.from({ length: count }, () => newSession(call)));
  return tally(await Promise.all(sessions.map((session) => runTurn(call, session, files))));
}

/** Lists of long sessions, probes, readiness, uploads and streams at once. */
export async function pressApi(
  call: Caller,
  { url, key, mcpUrl, streams }: { url: string; key: string; mcpUrl: string; streams: number },
): Promise<Tally> {
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
  return tally([...open.map(({ status }) => `stream ${status}`), ...statuses]);
}

function upload(call: Caller, bytes: number): Promise<{ status: number }> {
  const form = new FormData();
  form.set('file', new Blob([new Uint8Array(bytes)]), 'large.bin');
  return call('POST', '/v1/files', form);
}
