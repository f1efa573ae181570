import { describeFile } from '../../src/steps/session-files.js';
import { textOf } from '../../src/models/content.js';
import { exactText } from '../../src/platform/exact-json.js';
import type { PastTurn, SteeringMessage } from '../../src/steps/past-turn.js';

/** A summary reads only the start and the end of longer texts. */
const MAX_MESSAGE = 12_000;
const MAX_INPUT_OR_RESULT = 1500;

export function transcriptOf(turn: PastTurn): string {
  const lines: string[] = [];
  const addMessage = ({ content, files, at }: Pick<SteeringMessage, 'content' | 'files' | 'at'>): void => {
    lines.push(`User (${at.slice(0, 19)}Z): ${gist(content, MAX_MESSAGE)}`);
    for (const file of files) lines.push(`(attached ${describeFile(file)})`);
  };
  if (turn.content === null) lines.push('(the agent continues the previous turn)');
  else addMessage({ content: turn.content, files: turn.files, at: turn.queuedAt });
  for (const step of turn.steps) {
    turn.steering.filter((message) => message.step === step.step).forEach(addMessage);
    let use = 0;
    for (const block of step.content) {
      if (block.type === 'text' && block.text.trim() !== '') lines.push(`Agent: ${gist(block.text, MAX_MESSAGE)}`);
      if (block.type !== 'tool_use') continue;
      const name = step.calls[use++]?.name ?? block.name;
      lines.push(`Agent calls ${name} (${block.id}): ${gist(exactText(block.input), MAX_INPUT_OR_RESULT)}`);
    }
    for (const call of step.calls) {
      const text = gist(textOf(call.content ?? []), MAX_INPUT_OR_RESULT);
      const media = (call.content ?? [])
        .flatMap((block) => (block.type === 'text' ? [] : [` (${block.type})`]))
        .join('');
      lines.push(`${call.isError ? 'Error' : 'Result'} of ${call.name} (${call.toolUseId}): ${text}${media}`);
    }
    if (step.stopReason === 'refusal') lines.push('(the agent refused to answer)');
  }
  const steps = new Set(turn.steps.map(({ step }) => step));
  turn.steering.filter(({ step }) => step === null || !steps.has(step)).forEach(addMessage);
  if (turn.cutOff !== null) lines.push(`Agent (cut off): ${gist(turn.cutOff, MAX_MESSAGE)}`);
  if (turn.state === 'cancelled' || turn.state === 'failed') lines.push(`(the turn was ${turn.state})`);
  return lines.join('\n');
}

function gist(text: string, max: number): string {
  if (text.length <= max) return text;
  const [start, end] = [text.slice(0, (max * 2) / 3), text.slice(-max / 3)];
  return `${start.toWellFormed()} [… of ${text.length} characters …] ${end.toWellFormed()}`;
}
