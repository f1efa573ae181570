/**
 * An engine without a server, for `npm run bench`: a LangGraph graph with its state in memory, in this process. The interface is
 * that of bench/baseline: POST /sessions/{id} runs the graph, GET /sessions/{id} streams what it sends.
 */
import { createServer } from 'node:http';
import Anthropic from '@anthropic-ai/sdk';
import { AIMessage, HumanMessage } from '@langchain/core/messages';
import { MemorySaver, MessagesAnnotation, START, StateGraph } from '@langchain/langgraph';

const anthropic = new Anthropic({ apiKey: 'none', baseURL: process.argv[2] });

async function callModel({ messages }, { writer }) {
  const stream = await anthropic.messages.create({
    model: 'scripted-1',
    max_tokens: 8000,
    stream: true,
    messages: messages.map((message) => ({
      role: message.getType() === 'human' ? 'user' : 'assistant',
      content: message.content,
    })),
  });
  let text = '';
  for await (const event of stream) {
    if (event.type !== 'content_block_delta' || event.delta.type !== 'text_delta') continue;
    text += event.delta.text;
    writer({ event: 'agent.message.delta', content: event.delta.text });
  }
  return { messages: [new AIMessage(text)] };
}

const graph = new StateGraph(MessagesAnnotation)
  .addNode('model', callModel)
  .addEdge(START, 'model')
  .compile({ checkpointer: new MemorySaver() });

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
  const options = { configurable: { thread_id: id }, streamMode: 'custom' };
  for await (const { event, content: text } of await graph.stream({ messages: [new HumanMessage(content)] }, options)) {
    send(event, text);
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
