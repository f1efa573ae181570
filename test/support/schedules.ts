import { expect } from 'chai';
import type { ApiCall, ApiResponse } from './client.js';
import { allItems } from './pages.js';

/** A schedule as the API shows it. */
// oxlint-disable-next-line typescript/no-explicit-any -- tests look into answers of many forms
export type Shown = any;

/** `at` this many seconds from now. */
export function inSeconds(seconds: number): string {
  return new Date(Date.now() + seconds * 1000).toISOString();
}

/** The body of a schedule in a new session of this model; fields as given. */
export function newSchedule(fields: Record<string, unknown> = {}, model = 'test-model'): Record<string, unknown> {
  return {
    ...('at' in fields || 'cron' in fields ? {} : { cron: '0 8 * * *' }),
    target: { type: 'new_session', session: { model_id: model } },
    message: { content: 'Report.' },
    ...fields,
  };
}

/** Creates a schedule; expects 201. */
export async function createSchedule(api: ApiCall, body: Record<string, unknown>): Promise<Shown> {
  const answer = await api('POST', '/v1/schedules', body);
  expect(answer.status, JSON.stringify(answer.body)).to.equal(201);
  return answer.body;
}

/** An operation of a schedule; expects 200. */
export async function ofSchedule(api: ApiCall, method: 'GET' | 'POST', id: string, path = ''): Promise<Shown> {
  const answer: ApiResponse = await api(method, `/v1/schedules/${id}${path}`);
  expect(answer.status, JSON.stringify(answer.body)).to.equal(200);
  return answer.body;
}

/** All runs of a schedule, newest first. */
export function runsOf(api: ApiCall, id: string): Promise<Shown[]> {
  return allItems(api, `/v1/schedules/${id}/runs?limit=100`);
}
