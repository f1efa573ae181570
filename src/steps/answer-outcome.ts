import type { StopReason } from '../events/fields.js';
import type { ModelAnswer } from '../models/content.js';
import type { TurnOutcome } from '../turns/outcome.js';
import type { StepOutput } from './output.js';

interface EndingAnswer {
  answer: Pick<ModelAnswer, 'stopReason'>;
  /** True for the last step that the turn may take. */
  isLast: boolean;
  /** Null in a turn without `output_schema`. */
  output: StepOutput | null;
}

/** The stop reason as it is stored: some servers send none. */
export function stopReasonOf({ stopReason }: Pick<ModelAnswer, 'stopReason'>): string {
  return stopReason ?? 'end_turn';
}

/** How the answer ends the turn; null if the turn goes on. */
export function outcomeOfAnswer({ answer, isLast, output }: EndingAnswer, hasUses: boolean): TurnOutcome | null {
  const stopReason = stopReasonOf(answer);
  const completed = (reason: StopReason, value: string | null = null): TurnOutcome => ({
    kind: 'completed',
    stopReason: reason,
    ...(output !== null && { output: value }),
  });
  if (output?.end != null) return completed(output.end.stopReason, output.end.value);
  const goesOn = hasUses || stopReason === 'pause_turn' || output?.mustRepair === true;
  if (goesOn) return isLast ? completed('max_steps') : null;
  return completed(turnStopReason(stopReason));
}

function turnStopReason(modelReason: string): StopReason {
  if (modelReason === 'max_tokens' || modelReason === 'model_context_window_exceeded') return 'max_output_tokens';
  return modelReason === 'refusal' ? 'refusal' : 'end_turn';
}
