import { text, wait, type Gate, type Part } from './scripted-model.js';
import type { TurnService } from './turns.js';

/** A turn whose model call is under way until the gate opens. */
export interface OpenTurn {
  sessionId: string;
  turnId: string;
  gate: Gate;
}

interface Options {
  sessionId?: string;
  content?: string;
  when_running?: string;
  /** What the answer of the model goes on with once the gate is open. */
  then?: Part[];
  /** The message waits for another turn: its model call begins later. */
  waits?: boolean;
}

export async function streaming(
  service: TurnService,
  { sessionId, content = 'Count', when_running, then = [], waits = false }: Options = {},
): Promise<OpenTurn> {
  const gate = service.model.gate();
  service.model.reply([text('One two three.', { every: 0, before: { 2: wait(gate) } }), ...then]);
  const id = sessionId ?? (await service.session());
  const turnId = await service.send(id, content, when_running === undefined ? {} : { when_running });
  if (!waits) await gate.reached;
  return { sessionId: id, turnId, gate };
}
