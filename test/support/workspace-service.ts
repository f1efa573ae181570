import { needSandbox } from './sandbox.js';
import { toolUse, text, type Handler } from './scripted-model.js';
import type { TurnService, TurnServiceOptions } from './turns.js';
import { useTurnService } from './use.js';

type Call = [name: string, input: Record<string, unknown>];

// oxlint-disable-next-line typescript/no-explicit-any -- tests look into events of many types
type Event = any;

export interface WorkspaceService {
  service: TurnService;
  /** A new session with a workspace. */
  session: (body?: Record<string, unknown>) => Promise<string>;
  /** A turn whose model makes these calls, each in a step of its own; returns the turn's events. */
  calls: (session: string, calls: Call[], more?: Record<string, unknown>) => Promise<Event[]>;
  /** The same, and returns the `agent.tool_result` of each call. */
  results: (session: string, calls: Call[], more?: Record<string, unknown>) => Promise<Event[]>;
  /** Runs one command and returns its `agent.tool_result`. */
  bash: (session: string, command: string, input?: Record<string, unknown>) => Promise<Event>;
}

type WorkspaceOptions = TurnServiceOptions & { turnTimeoutMs?: number };

let turns = 0;

/** A service whose turns run commands; skipped where no sandbox can run. */
export function useWorkspaceService({ turnTimeoutMs, ...options }: WorkspaceOptions = {}): WorkspaceService {
  needSandbox();
  const service = useTurnService(() => ({
    own: 'its worker starts sandboxes',
    ...options,
    config: { sandboxProvider: 'bubblewrap', sandboxDiskMb: 8, ...options.config },
  }));
  const calls = async (session: string, made: Call[], more: Record<string, unknown> = {}): Promise<Event[]> => {
    turns += 1;
    const message = `Turn number ${turns}:`;
    const script: Handler = ({ step }) => (step < made.length ? toolUse(...made[step]!) : text('Done.'));
    service.model.on(new RegExp(message), script);
    const turnId = await service.send(session, message, more);
    await service.ended(session, turnTimeoutMs);
    return (await service.history(session)).filter((event: Event) => event.turn_id === turnId);
  };
  const results = async (...args: Parameters<typeof calls>): Promise<Event[]> =>
    (await calls(...args)).filter(({ type }: Event) => type === 'agent.tool_result');
  return {
    service,
    session: (body = {}) => service.session({ tools: [{ type: 'workspace' }], ...body }),
    calls,
    results,
    bash: async (session, command, input = {}) => (await results(session, [['bash', { command, ...input }]]))[0],
  };
}
