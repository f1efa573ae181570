import { text } from 'node:stream/consumers';
import type { AgentSessionClient } from '../client.js';
import type { OutputSchema } from '../output.js';
import type { RunResult } from '../run.js';
import type { RequiredAction, StreamEvent } from '../types.js';
import { readText, type Arguments } from './arguments.js';
import { messageOf, newSession } from './message.js';
import type { Screen } from './screen.js';
import { TurnScreen } from './turn-screen.js';
import { EXIT, UsageError } from './usage.js';

/** Leaves the wait for a turn that waits for somebody else. */
class Waits extends Error {}

/** `send`: one turn; the answer on stdout, everything else on stderr. Returns the exit code. */
export async function send(
  client: AgentSessionClient,
  args: Arguments,
  answer: Screen,
  notes: Screen,
): Promise<number> {
  const { positionals, options } = args;
  if (positionals.length === 0 || positionals.length > 2)
    throw new UsageError('Write: agent-session send [SESSION] TEXT|-');
  const given = positionals.at(-1)!;
  const content = given === '-' ? await text(process.stdin) : given;
  const output = schemaOf(options['output-schema'] as string | undefined);
  const sessionId = positionals.length === 2 ? positionals[0]! : await newSession(client, args, notes);
  const message = await messageOf(client, content, options);
  const isJson = options.json === true;
  const screen = new TurnScreen(notes, notes, false);
  const leave = new AbortController();
  const stop = cancelOnInterrupt(client, sessionId, notes);
  try {
    const result = await client.run(sessionId, message, {
      ...(output !== undefined && { output }),
      signal: leave.signal,
      onEvent(event) {
        if (isJson) answer.write(`${JSON.stringify(event)}\n`);
        screen.show(event);
        const waits = event.type === 'agent.requires_action' ? event.required_actions : [];
        if (waits.length > 0) leave.abort(new Waits(waits.map(describeWait).join('\n')));
      },
    });
    return end(result, isJson ? null : answer, notes, output !== undefined);
  } catch (error) {
    if (!(error instanceof Waits)) throw error;
    notes.line(error.message, 'yellow');
    notes.line(`The turn stays open: agent-session chat ${sessionId}`);
    return EXIT.waits;
  } finally {
    stop();
  }
}

function end(result: RunResult, answer: Screen | null, notes: Screen, hasOutput: boolean): number {
  const { status, message, output, end: event } = result;
  answer?.write(hasOutput ? JSON.stringify(output) : message);
  answer?.endLine();
  if (status === 'cancelled') {
    notes.line('The turn was cancelled.');
    return EXIT.cancelled;
  }
  const problem = problemOf(event);
  if (problem !== null) notes.line(problem, 'red');
  return problem === null ? EXIT.completed : EXIT.failed;
}

/** Why a turn did not end as it should; null if it did. */
export function problemOf(event: StreamEvent): string | null {
  if (event.type === 'turn.failed') return `The turn failed: ${event.error.type}: ${event.error.message}`;
  if (event.type !== 'turn.completed' || event.stop_reason === 'end_turn') return null;
  return `The turn ended early: ${event.stop_reason}`;
}

/** What a turn waits for, as a line. */
export function describeWait(action: RequiredAction): string {
  switch (action.type) {
    case 'tool_confirmation':
      return `${action.name} waits for a person to allow it: ${JSON.stringify(action.input)}`;
    case 'custom_tool_result':
      return `${action.name} waits for a client that runs it`;
    case 'mcp_authorization':
      return `${action.name} waits for a login`;
    case 'elicitation':
      return `${action.name} asks: ${action.message}`;
    case 'budget':
      return `The budget of ${action.max_cost.amount} ${action.max_cost.currency} is too small`;
    default:
      return `The turn waits for ${(action as { type: string }).type}`;
  }
}

/** Ctrl-C cancels the turn; a second one leaves at once. */
export function cancelOnInterrupt(client: AgentSessionClient, sessionId: string, notes: Screen): () => void {
  let isCancelling = false;
  const interrupt = (): void => {
    if (isCancelling) process.exit(130);
    isCancelling = true;
    notes.line('Cancelling the turn. Press Ctrl-C again to leave.');
    client.cancelTurn(sessionId).catch((error: unknown) => notes.line((error as Error).message, 'red'));
  };
  process.on('SIGINT', interrupt);
  return () => process.off('SIGINT', interrupt);
}

function schemaOf(file: string | undefined): OutputSchema | undefined {
  if (file === undefined) return undefined;
  const schema = readText(file, 'The schema');
  try {
    return JSON.parse(schema) as OutputSchema;
  } catch {
    throw new UsageError(`The schema ${file} is no JSON`);
  }
}
