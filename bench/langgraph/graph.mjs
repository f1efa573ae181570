/** One call of the model, as both processes of this folder run it. */
import { ChatAnthropic } from '@langchain/anthropic';
import { MessagesAnnotation, START, StateGraph } from '@langchain/langgraph';

const model = new ChatAnthropic({
  model: 'scripted-1',
  maxTokens: 8000,
  apiKey: 'none',
  anthropicApiUrl: process.env.MODEL_URL,
});

/** Not compiled: each process adds its own checkpointer. */
export const graph = new StateGraph(MessagesAnnotation)
  .addNode('model', async ({ messages }) => ({ messages: [await model.invoke(messages)] }))
  .addEdge(START, 'model');
