import { connect } from 'node:net';
import { randomBytes } from 'node:crypto';
import { MIB } from '../../src/platform/units.js';
import { zip } from '../../test/src/skills/zip.js';
import { apiClient, type ApiCall } from '../../test/support/client.js';
import { openSse } from '../../test/support/sse-reader.js';
import { pause } from '../measure.js';
import { newSession, runTurn, uploadImages } from './project.js';

/** What an attacker has: a key, the service's address, and an MCP server of its own with a path for each trick. */
export interface Attacker {
  url: string;
  key: string;
  mcpUrl: (trick: string) => string;
}

const EMPTY = Array(990).fill('{}').join(',');
/** 30 KB that parse to 10,000 values. */
const DENSE_SCHEMA = `{"type":"object","anyOf":[${Array(10).fill(`{"anyOf":[${EMPTY}]}`).join(',')}]}`;

const register = async (call: ApiCall, { mcpUrl }: Attacker, trick: string, auth?: object): Promise<string> => {
  const name = `${trick}-${randomBytes(3).toString('hex')}`;
  return (await call('POST', '/v1/mcp-servers', { name, url: `${mcpUrl(trick)}/${name}`, ...(auth && { auth }) })).body
    ?.id as string;
};

/** Registers the trick's server and has a turn call its tool. */
const inTurn =
  (trick: string) =>
  async (call: ApiCall, attacker: Attacker): Promise<void> => {
    const id = await register(call, attacker, trick);
    const server = (await call('GET', `/v1/mcp-servers/${id}`)).body as { name: string };
    const session = await newSession(call, { model_id: 'local-rules', mcp_servers: [id] });
    await runTurn(call, session, [], `call mcp__${server.name}__dump with {}`);
  };
const atRegistration =
  (trick: string, auth?: object) =>
  async (call: ApiCall, attacker: Attacker): Promise<void> =>
    void (await Promise.all(Array.from({ length: 8 }, () => register(call, attacker, trick, auth))));

const denseSession = (): string =>
  JSON.stringify({
    model_id: 'local-rules',
    tools: Array.from({ length: 62 }, (_, n) => ({
      type: 'custom',
      name: `tool_${n}`,
      description: 'x',
      input_schema: 0,
    })),
  }).replaceAll('"input_schema":0', `"input_schema":${DENSE_SCHEMA}`);

/** Opens sockets that send a request and read nothing. */
async function unread(attacker: Attacker, path: string, count: number, ms: number): Promise<void> {
  const { hostname, port } = new URL(attacker.url);
  const sockets = Array.from({ length: count }, () => {
    const socket = connect(Number(port), hostname);
    socket.on('error', () => undefined);
    socket.pause();
    const authorization = attacker.key === '' ? '' : `Authorization: Bearer ${attacker.key}\r\n`;
    if (path !== '') socket.write(`GET ${path} HTTP/1.1\r\nHost: x\r\n${authorization}\r\n`);
    return socket;
  });
  await pause(ms);
  for (const socket of sockets) socket.destroy();
}

/** Every attack, by name. */
export const ATTACKS: Record<string, (call: ApiCall, attacker: Attacker) => Promise<void>> = {
  'an array of pings at a probe': atRegistration('pings-at-probe'),
  'an array of pings at a connection': inTurn('pings-at-connect'),
  'an upload with 20,000 parameters': async (call) => {
    const parameters = Array.from({ length: 20_000 }, (__, n) => `;a${n}=b`).join('');
    const head = `--b\r\nContent-Disposition: form-data; name="file"; filename="a.txt"${parameters}\r\n\r\nx\r\n--b--\r\n`;
    await call('POST', '/v1/files', head, { 'Content-Type': 'multipart/form-data; boundary=b' });
  },
  'streams of a dense session': async (call, attacker) => {
    const { body } = await call('POST', '/v1/sessions', denseSession());
    const session =
      (body?.id as string | undefined) ??
      (await newSession(call, { model_id: 'local-rules', instruction: 'x'.repeat(100_000) }));
    const path = `${attacker.url}/v1/sessions/${session}/events/stream`;
    const streams = await Promise.all(Array.from({ length: 30 }, () => openSse(path, attacker.key)));
    await pause(2000);
    for (const stream of streams) stream.close();
  },
  'a result of five million values': inTurn('dense-content'),
  'structured content': inTurn('structured'),
  'a result of 100,000 images': inTurn('pixels'),
  'a dense list of tools': atRegistration('dense-tools'),
  'a token and a text that match slowly': atRegistration('hostile-text', {
    type: 'BEARER',
    token: `b${'a'.repeat(8000)}`,
  }),
  'wrong metadata of an authorization server': atRegistration('authorization', { type: 'OAUTH' }),
  'sixty dense sessions': async (call) =>
    void (await Promise.all(Array.from({ length: 60 }, () => call('POST', '/v1/sessions', denseSession())))),
  'rejected JSON': async (call) => {
    const body = `[${Array(690_000).fill('[]').join(',')}]`;
    for (const path of ['/v1/sessions', '/v1/mcp-servers', '/v1/webhooks'])
      await Promise.all(Array.from({ length: 20 }, () => call('POST', path, body)));
  },
  'unread lists': async (call, attacker) => {
    await Promise.all(
      Array.from({ length: 40 }, () => newSession(call, { model_id: 'local-rules', instruction: 'x'.repeat(100_000) })),
    );
    await unread(attacker, '/v1/sessions?limit=100', 40, 15_000);
  },
  'unknown keys': async (_, { url }) => {
    for (let round = 0; round < 40; round += 1)
      await Promise.all(
        Array.from({ length: 50 }, () => {
          const key = `ask_${randomBytes(32).toString('base64url')}`;
          return callOf({ url, key })('GET', '/v1/sessions');
        }),
      );
  },
  'idle connections': async (_, attacker) => unread({ ...attacker, key: '' }, '', 10_300, 5000),
  'forty turns with images': async (call) => void (await imageTurns(call, 40, { model_id: 'local-rules' })),
  'ten stalled readers of a long stream': async (call, attacker) => {
    const session = await newSession(call, { model_id: 'local-rules' });
    await call('POST', `/v1/sessions/${session}/messages`, { content: 'write 20000 words at 2000 words per second' });
    await unread(attacker, `/v1/sessions/${session}/events/stream`, 10, 12_000);
    await call('POST', `/v1/sessions/${session}/cancel`);
  },
  'skills that expand a thousandfold': async (call) => {
    const entries = Array.from({ length: 8 }, (_, n) => ({ name: `zeros-${n}`, content: Buffer.alloc(24 * MIB) }));
    const archive = zip([{ name: 'SKILL.md', content: '---\nname: bomb\ndescription: x\n---\n' }, ...entries]);
    for (let n = 0; n < 6; n += 1) {
      const form = new FormData();
      form.set('file', new Blob([new Uint8Array(archive)]), 'bomb.zip');
      await call('POST', '/v1/skills', form);
    }
  },
};

export const attack = (name: string, attacker: Attacker): Promise<void> => ATTACKS[name]!(callOf(attacker), attacker);

export const callOf = ({ url, key }: Pick<Attacker, 'url' | 'key'>): ApiCall => apiClient(url, key, () => undefined);

/** How often each answer came. */
export function tally(answers: string[]): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const answer of answers) counts[answer] = (counts[answer] ?? 0) + 1;
  return counts;
}

/** Turns with 13 MB of images each, all at once. Returns how each ended. */
export async function imageTurns(call: ApiCall, count: number, session: object = {}): Promise<string[]> {
  const files = await uploadImages(call);
  const sessions = await Promise.all(Array.from({ length: count }, () => newSession(call, session)));
  return Promise.all(sessions.map((id) => runTurn(call, id, files)));
}

/** Lists of long sessions, probes, readiness, uploads and streams at once. Returns every answer's name and status. */
export async function pressApi(call: ApiCall, { url, key, mcpUrl }: Attacker, streams: number): Promise<string[]> {
  const server = await call('POST', '/v1/mcp-servers', { name: `s${Date.now()}`, url: mcpUrl('plain') });
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

function upload(call: ApiCall, bytes: number): Promise<{ status: number }> {
  const form = new FormData();
  form.set('file', new Blob([new Uint8Array(bytes)]), 'large.bin');
  return call('POST', '/v1/files', form);
}
