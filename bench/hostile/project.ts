import { MIB } from '../../src/platform/units.js';
import type { ApiCall } from '../../test/support/client.js';
import { pause } from '../measure.js';

/** Ids of four PNG files of 3.25 MiB: by their headers 100 × 100 pixels. */
export async function uploadImages(call: ApiCall): Promise<string[]> {
  const image = Buffer.alloc(3.25 * MIB, 7);
  Buffer.from('89504e470d0a1a0a0000000d494844520000006400000064', 'hex').copy(image);
  const ids: string[] = [];
  for (let number = 0; number < 4; number += 1) {
    const form = new FormData();
    form.set('file', new Blob([image]), `${number}.png`);
    ids.push((await call('POST', '/v1/files', form)).body.id as string);
  }
  return ids;
}

export async function newSession(call: ApiCall, more: object = {}): Promise<string> {
  return (await call('POST', '/v1/sessions', { model_id: 'sink', ...more })).body.id as string;
}

/** Sends a message, waits until its turn has ended, and returns the session's status. */
export async function runTurn(
  call: ApiCall,
  session: string,
  files: string[] = [],
  content = 'What is it?',
  pollMs = 20,
): Promise<string> {
  const sent = await call('POST', `/v1/sessions/${session}/messages`, { content, files });
  if (sent.status !== 201) return `not accepted: ${sent.status}`;
  for (;;) {
    const { status } = (await call('GET', `/v1/sessions/${session}`)).body as { status: string };
    if (status !== 'RUNNING') return status;
    await pause(pollMs);
  }
}
