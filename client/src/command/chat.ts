import type { AgentSessionClient, RunOptions } from '../client.js';
import { ApiError } from '../errors.js';
import type { RunResult } from '../run.js';
import { isTerminal, type StreamEvent } from '../types.js';
import type { Arguments } from './arguments.js';
import { messageOf, newSession } from './message.js';
import { Keyboard, Questions } from './questions.js';
import type { Screen } from './screen.js';
import { describeWait, problemOf } from './send.js';
import { TurnScreen } from './turn-screen.js';
import { EXIT, UsageError } from './usage.js';

/** `chat`: talks in the terminal, to the end of the input. Returns the exit code. */
export async function chat(
  client: AgentSessionClient,
  args: Arguments,
  screen: Screen,
  notes: Screen,
): Promise<number> {
  if (args.positionals.length > 1) throw new UsageError('Write: agent-session chat [SESSION]');
  const [given] = args.positionals;
  const session = given === undefined ? null : await client.getSession(given);
  const sessionId = session === null ? await newSession(client, args, notes) : session.id;
  let isRunning = false;
  let isCancelling = false;
  const interrupt = (): void => {
    if (!isRunning || isCancelling) {
      keyboard.close();
      process.exit(isRunning ? 130 : EXIT.completed);
    }
    isCancelling = true;
    notes.line('Cancelling the turn. Press Ctrl-C again to leave.');
    client.cancelTurn(sessionId).catch((error: unknown) => notes.line((error as Error).message, 'red'));
  };
  const keyboard = new Keyboard(process.stdin, process.stdout, interrupt);
  process.on('SIGINT', interrupt);

  const turn = async (follow: (options: RunOptions) => Promise<RunResult>): Promise<void> => {
    const ended = new AbortController();
    const questions = new Questions(keyboard, screen, ended.signal);
    const view = new TurnScreen(screen, screen);
    const shown = new Set<string>();
    isRunning = true;
    isCancelling = false;
    const onEvent = (event: StreamEvent): void => {
      view.show(event);
      if (event.type === 'agent.requires_action') {
        for (const action of event.required_actions) {
          // What the session of an agent that was called waits for is answered there, and its calls may have the same ids.
          const { session_id: childId = null } = action as { session_id?: string | null };
          const id = JSON.stringify([action.type, childId, 'tool_use_id' in action ? action.tool_use_id : null]);
          if (shown.has(id)) continue;
          shown.add(id);
          if (action.type === 'mcp_authorization') void questions.login(client, childId ?? sessionId, action);
          else if (action.type === 'custom_tool_result' || action.type === 'budget')
            screen.line(describeWait(action), 'yellow');
        }
      }
      if (isTerminal(event)) ended.abort();
    };
    try {
      const { confirm, elicit } = questions;
      const { end } = await follow({ confirm, elicit, onEvent });
      const problem = end.type === 'turn.cancelled' ? 'The turn was cancelled.' : problemOf(end);
      screen.endLine();
      if (problem !== null) screen.line(problem, 'red');
    } catch (error) {
      // The next message may do better: what is wrong is shown, and the chat goes on.
      if (!(error instanceof ApiError)) throw error;
      notes.line(`${error.type}: ${error.message}`, 'red');
    } finally {
      ended.abort();
      isRunning = false;
    }
  };

  try {
    if (session?.status === 'RUNNING' && session.last_turn_id !== null) {
      const turnId = session.last_turn_id;
      await turn((options) => client.followTurn(sessionId, turnId, options));
    }
    let { options } = args;
    for (;;) {
      screen.endLine();
      const content = await keyboard.ask('> ');
      if (content === null) return EXIT.completed;
      if (content.trim() === '') continue;
      const message = await messageOf(client, content, options);
      // Files go with the first message; a skill is for every turn.
      options = { ...options, file: [] };
      await turn((more) => client.run(sessionId, message, more));
    }
  } finally {
    process.off('SIGINT', interrupt);
    keyboard.close();
  }
}
