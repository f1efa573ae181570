import { eventually } from '../support/eventually.js';
import { steps, toolUse } from '../support/scripted-model.js';
import { requiredActions, sendAnswers } from '../support/waiting-turns.js';
import { endOf, newSession, SECRET, withServer, type Path, type Scene } from './path.js';

const QUESTION = {
  mode: 'form',
  message: SECRET,
  requestedSchema: { type: 'object', properties: { branch: { type: 'string' } } },
} as const;

/** A turn whose model calls a tool of a server that may ask. */
async function start(scene: Scene, calls = [toolUse('mcp__shop__buy', { what: SECRET })]): Promise<string> {
  scene.service.model.script(steps(calls, SECRET));
  const serverId = await withServer(scene);
  const tools = [{ type: 'mcp_toolset', mcp_server_id: serverId, elicitation: true }];
  const sessionId = await newSession(scene, { mcp_servers: [serverId], tools });
  await scene.service.send(sessionId, SECRET);
  return sessionId;
}

async function answer({ service, client }: Scene, sessionId: string): Promise<void> {
  const [{ elicitation_id }] = await requiredActions(service, sessionId);
  const { last_turn_id } = (await service.api('GET', `/v1/sessions/${sessionId}`)).body;
  await eventually('Temporal shows that the server asks', async () => {
    const handle = client.workflow.getHandle(last_turn_id);
    const shown = await handle.query<{ currentDetails: string }>('__temporal_workflow_metadata');
    return shown.currentDetails.includes('questions of tools');
  });
  const event = { type: 'user.elicitation_result', elicitation_id, action: 'accept', content: { branch: SECRET } };
  await sendAnswers(service, sessionId, [event]);
}

const polls = ({ mcp }: Scene): number => mcp.log.filter((method) => method === 'tasks/get').length;

async function completeAfter(scene: Scene, polled: number): ReturnType<Path['play']> {
  let end = (): void => undefined;
  scene.mcp.options.tasks = true;
  scene.mcp.options.tools = [
    { name: 'buy', pollInterval: 1000, task: (task) => void (end = () => void task.end('completed', SECRET)) },
  ];
  const sessionId = await start(scene);
  await eventually('the task is polled', () => polls(scene) > polled);
  end();
  return endOf(scene, sessionId);
}

async function askInTask(scene: Scene): ReturnType<Path['play']> {
  scene.mcp.options.tasks = true;
  scene.mcp.options.tools = [
    {
      name: 'buy',
      pollInterval: 1000,
      task: async ({ update, ask, end }) => {
        await update('input_required', SECRET);
        await ask(QUESTION);
        await update('working');
        await end('completed', SECRET);
      },
    },
  ];
  const sessionId = await start(scene);
  await answer(scene, sessionId);
  return endOf(scene, sessionId);
}

async function askInCall(scene: Scene): ReturnType<Path['play']> {
  scene.mcp.options.tools = [{ name: 'buy', run: async ({ ask }) => void (await ask(QUESTION)) }];
  const sessionId = await start(scene);
  await answer(scene, sessionId);
  return endOf(scene, sessionId);
}

async function cancelAfterPoll(scene: Scene): ReturnType<Path['play']> {
  scene.mcp.options.tasks = true;
  scene.mcp.options.tools = [{ name: 'buy', pollInterval: 1000, task: () => undefined }];
  const sessionId = await start(scene);
  await eventually('the task is polled', () => polls(scene) > 0);
  await scene.service.api('POST', `/v1/sessions/${sessionId}/cancel`);
  return endOf(scene, sessionId, 'turn.cancelled');
}

/** Two tasks of a step: the first one ends while the other is open. */
async function completeTwo(scene: Scene): ReturnType<Path['play']> {
  const ends: (() => void)[] = [];
  scene.mcp.options.tasks = true;
  scene.mcp.options.tools = [
    { name: 'buy', pollInterval: 1000, task: (task) => ends.push(() => void task.end('completed', SECRET)) },
  ];
  const calls = [1, 2].map(() => toolUse('mcp__shop__buy', { what: SECRET }));
  const sessionId = await start(scene, calls);
  await eventually('the tasks are polled', () => polls(scene) > 3);
  ends[0]!();
  const before = polls(scene);
  await eventually('the other task is polled', () => polls(scene) > before + 3);
  ends[1]!();
  return endOf(scene, sessionId);
}

/** Turns with tasks, and with servers that ask. */
export const TASK_PATHS: Path[] = [
  {
    name: 'task',
    play: (scene) => completeAfter(scene, 1),
  },
  {
    name: 'task-cancelled',
    play: cancelAfterPoll,
  },
  // Those without `shown` are from before the workflow knew of questions.
  {
    name: 'task-asks',
    play: askInTask,
  },
  {
    name: 'task-asks-shown',
    play: askInTask,
  },
  {
    name: 'call-asks',
    play: askInCall,
  },
  {
    name: 'call-asks-shown',
    play: askInCall,
  },
  // The others are from before one activity polled all tasks of a server.
  {
    name: 'tasks-together',
    play: completeTwo,
  },
  {
    name: 'tasks-together-cancelled',
    play: cancelAfterPoll,
  },
  {
    name: 'tasks-together-asks',
    play: askInTask,
  },
];
