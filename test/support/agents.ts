import { expect } from 'chai';
import { skillMd, zip } from '../src/skills/zip.js';
import type { ApiCall, ApiResponse } from './client.js';

let made = 0;

/** Creates an agent with a name of its own; returns it. */
// oxlint-disable-next-line typescript/no-explicit-any -- tests look into answers
export async function newAgent(api: ApiCall, fields: object = {}): Promise<any> {
  const { status, body } = await api('POST', '/v1/agents', { name: `agent-${(made += 1)}`, ...fields });
  expect(status, JSON.stringify(body)).to.equal(201);
  return body;
}

/** Uploads a skill. */
export function pushSkill(api: ApiCall, name: string, text = `Secret of ${name}.\n`, query = ''): Promise<ApiResponse> {
  const form = new FormData();
  const archive = zip([{ name: 'SKILL.md', content: skillMd(name, `About ${name}.`, text) }]);
  form.set('file', new Blob([new Uint8Array(archive)]), `${name}.zip`);
  return api('POST', `/v1/skills${query}`, form);
}

/** Uploads a skill; returns its id. */
export async function newSkill(api: ApiCall, name: string): Promise<string> {
  const { status, body } = await pushSkill(api, name);
  expect(status, JSON.stringify(body)).to.equal(201);
  return body.id as string;
}
