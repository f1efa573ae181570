import { randomUUID } from 'node:crypto';
import { embeddedDatabaseUrl } from '../../dev/embedded-postgres.js';
import { openSse } from '../../test/support/sse-reader.js';
import { startChild } from './child.js';
import { temporalAddressOf } from './service.js';
import { turnFrames, type Side, type StartedSide } from './side.js';

export function startBaseline(dataDir: string, modelUrl: string, mcpUrl: string): Promise<StartedSide> {
  const servers = [temporalAddressOf(dataDir), embeddedDatabaseUrl(dataDir)!, modelUrl, mcpUrl];
  return startBareSide('baseline', ['--import', 'tsx', 'bench/baseline/main.ts', ...servers], process.env);
}

/** A process with a TurnServer. */
export async function startBareSide(name: Side['name'], args: string[], env: NodeJS.ProcessEnv): Promise<StartedSide> {
  const { printed: port, ...child } = await startChild(args, env, /listening on (\d+)/);
  const url = (sessionId: string): string => `http://127.0.0.1:${port}/sessions/${sessionId}`;
  return {
    name,
    ...turnFrames,
    ...child,
    session: () => Promise.resolve(randomUUID()),
    async send(sessionId, content) {
      const response = await fetch(url(sessionId), { method: 'POST', body: content });
      if (response.status !== 201) throw new Error(`${name} answered ${response.status}`);
      await response.text();
    },
    stream: (sessionId) => openSse(url(sessionId), ''),
  };
}
