/**
 * LangGraph's library for `npm run bench`: a graph with its state in memory, in this process. The interface is that of
 * bench/baseline: POST /sessions/{id} runs the graph, GET /sessions/{id} streams what it sends.
 */
import { createServer } from 'node:http';
import { AIMessageChunk, HumanMessage } from '@langchain/core/messages';
import { MemorySaver } from '@langchain/langgraph';
import { graph as builder } from './graph.mjs';

const graph = builder.compile({ checkpointer: new MemorySaver() });

/** The frames of each session's last turn, and their readers. */
const sessions = new Map();

function sessionOf(id) {
  if (!sessions.has(id)) sessions.set(id, { frames: [], readers: new Set() });
  return sessions.get(id);
}

async function run(id, content) {
  const { frames, readers } = sessionOf(id);
  const send = (event, text) => {
    const frame = `event: ${event}\ndata: ${JSON.stringify({ content: text })}\n\n`;
    frames.push(frame);
    for (const reader of readers) reader.write(frame);
  };
  const options = { configurable: { thread_id: id }, streamMode: 'messages' };
  for await (const [chunk] of await graph.stream({ messages: [new HumanMessage(content)] }, options)) {
    if (AIMessageChunk.isInstance(chunk) && chunk.text !== '') send('agent.message.delta', chunk.text);
  }
  send('turn.completed', '');
  for (const reader of readers) reader.end();
}

async function answer(request, response) {
  const id = request.url.slice('/sessions/'.length);
  if (request.method === 'POST') {
    const chunks = [];
    for await (const chunk of request) chunks.push(chunk);
    sessionOf(id).frames = [];
    void run(id, Buffer.concat(chunks).toString());
    response.writeHead(201, { 'Content-Type': 'application/json' }).end('{}');
    return;
  }
  const { frames, readers } = sessionOf(id);
  response.writeHead(200, { 'Content-Type': 'text/event-stream' });
  for (const frame of frames) response.write(frame);
  if (frames.at(-1)?.startsWith('event: turn.completed')) {
    response.end();
    return;
  }
  readers.add(response);
  response.once('close', () => readers.delete(response));
}

const server = createServer((request, response) => void answer(request, response));
server.listen(0, '127.0.0.1', () => console.log(`listening on ${server.address().port}`));
process.on('SIGTERM', () => process.exit(0));
