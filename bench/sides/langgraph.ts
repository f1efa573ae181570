import { readSse, type SseReader } from '../../test/support/sse-reader.js';
import { makeStateDir } from '../../test/support/state-dir.js';
import { startBareSide } from './baseline.js';
import { startChild } from './child.js';
import type { StartedSide } from './side.js';

const envOf = (modelUrl: string): NodeJS.ProcessEnv => ({
  ...process.env,
  MODEL_URL: modelUrl,
  LOG_LEVEL: 'error',
  LANGSMITH_TRACING_V2: 'false',
  LANGSMITH_TRACING: 'false',
});

export const startLangGraph = (modelUrl: string): Promise<StartedSide> =>
  startBareSide('langgraph', ['--import', 'tsx', 'bench/langgraph/main.mjs'], envOf(modelUrl));

export async function startLangGraphServer(modelUrl: string): Promise<StartedSide> {
  const args = ['bench/langgraph/server.mjs', makeStateDir()];
  const { printed: port, ...child } = await startChild(args, envOf(modelUrl), /listening on (\d+)/);
  const threads = `http://127.0.0.1:${port}/threads`;
  const post = (body: object) => ({
    method: 'POST',
    // The server closes a connection that was idle for 5 s, perhaps while the next request is on its way.
    headers: { 'Content-Type': 'application/json', Connection: 'close' },
    body: JSON.stringify(body),
  });
  const answers = new Map<string, SseReader>();
  return {
    name: 'langgraphServer',
    ...child,
    async session() {
      const response = await fetch(threads, post({}));
      return ((await response.json()) as { thread_id: string }).thread_id;
    },
    async send(threadId, content) {
      const input = { messages: [{ role: 'user', content }] };
      const run = post({ assistant_id: 'agent', input, stream_mode: ['messages'] });
      const answer = await readSse(`${threads}/${threadId}/runs/stream`, run);
      if (answer.status !== 200) throw new Error(`${threads} answered ${answer.status}`);
      answers.set(threadId, answer);
    },
    stream(threadId) {
      const answer = answers.get(threadId)!;
      answers.delete(threadId);
      return Promise.resolve(answer);
    },
    // Each frame has the whole text so far.
    charactersAfter: ({ event, data }, before) =>
      event === 'messages/partial' ? (data as { content: string }[])[0]!.content.length : before,
    isDelta: ({ event, data }) => event === 'messages/partial' && (data as { content: string }[])[0]!.content !== '',
  };
}
