import { textResult, type ToolResult } from './tool.js';

/** The result of a call that may have taken effect before a crash (decisions.md "Turns and events", "Tool calls"). */
export function outcomeUnknown(name: string): ToolResult {
  return textResult(
    `The outcome of this call of ${name} is unknown: it was sent, and its answer was lost. ` +
      'It may have taken effect. It was not sent again; check before you repeat it.',
    true,
  );
}

/** The result of a call that waited for a person's answer when a deploy ended its worker (decisions.md "Elicitation"). */
export function restarted(name: string): ToolResult {
  return textResult(
    `A restart of the service ended this call of ${name} while it waited for a person’s answer. The question is closed. ` +
      'What the server did before it asked may have taken effect. It was not called again; check before you repeat it.',
    true,
  );
}
