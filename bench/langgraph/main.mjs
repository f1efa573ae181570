/** LangGraph's library for `npm run bench`: a graph with its state in memory, in this process. */
import { AIMessageChunk, HumanMessage } from '@langchain/core/messages';
import { MemorySaver } from '@langchain/langgraph';
import { TurnServer } from '../sides/turn-server.ts';
import { graph as builder } from './graph.mjs';

const graph = builder.compile({ checkpointer: new MemorySaver() });
const server = new TurnServer((id, content) => void run(id, content));

async function run(id, content) {
  const options = { configurable: { thread_id: id }, streamMode: 'messages' };
  for await (const [chunk] of await graph.stream({ messages: [new HumanMessage(content)] }, options)) {
    if (AIMessageChunk.isInstance(chunk) && chunk.text !== '') server.send(id, 'agent.message.delta', chunk.text);
  }
  server.send(id, 'turn.completed', '');
}

server.listen();
process.on('SIGTERM', () => process.exit(0));
