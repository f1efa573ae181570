/**
 * LangGraph's development server for `npm run bench`, as `langgraphjs dev` starts it, without a watcher of the files, a browser
 * and the analytics of that command. State is in memory; the server writes it to the folder `process.argv[2]` when it is idle.
 */
import { fileURLToPath } from 'node:url';
import { startServer } from '@langchain/langgraph-api/server';

const { host } = await startServer({
  host: '127.0.0.1',
  port: 0,
  // The default of `langgraphjs dev`.
  nWorkers: 10,
  cwd: process.argv[2],
  graphs: { agent: `${fileURLToPath(new URL('graph.mjs', import.meta.url))}:graph` },
});
console.log(`listening on ${new URL(`http://${host}`).port}`);
process.on('SIGTERM', () => process.exit(0));
