import type { Client } from '@temporalio/client';
import type { TestMcpServer } from '../support/mcp-server.js';
import type { TurnService, TurnServiceOptions } from '../support/turns.js';

/** In every text that a client, a model or a tool brings: no history may contain it (test/histories/replay.test.ts). */
export const SECRET = 'SECRET-CONTENT';

export interface Scene {
  service: TurnService;
  client: Client;
  mcp: TestMcpServer;
}

export interface Path {
  name: string;
  options?: TurnServiceOptions;
  /** Runs of the workflow that the path makes. */
  runs?: number;
  /** Plays one turn to its end; returns its id. */
  play(scene: Scene): Promise<string>;
}

/** Waits for the turn's end, which must be the expected one: another path would be captured under this name. */
export async function endOf({ service }: Scene, sessionId: string, expected = 'turn.completed'): Promise<string> {
  const end = (await service.ended(sessionId, 60_000)) as { type: string; turn_id: string };
  if (end.type !== expected) throw new Error(JSON.stringify(end));
  return end.turn_id;
}

export function newSession({ service }: Scene, body: Record<string, unknown> = {}): Promise<string> {
  return service.session({ thinking_enabled: false, ...body });
}

export async function simple(scene: Scene, body: Record<string, unknown> = {}, expected?: string): Promise<string> {
  const sessionId = await newSession(scene, body);
  await scene.service.send(sessionId, `Go on, ${SECRET}`);
  return endOf(scene, sessionId, expected);
}

export async function withServer({ service, mcp }: Scene): Promise<string> {
  const auth = { type: 'BEARER', token: SECRET };
  const { body } = await service.api('POST', '/v1/mcp-servers', { name: 'shop', url: mcp.url, auth });
  return body.id as string;
}
