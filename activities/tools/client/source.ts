import type { ToolSource, TurnTool } from '../tool-source.js';

/** The session's own tools, which its client runs. */
export const clientSource: ToolSource = {
  tools: ({ customTools }) =>
    customTools.map(({ name, description, input_schema: inputSchema }): TurnTool => ({
      definition: { name, description, inputSchema },
      shown: 'always',
      permission: 'custom',
      isSerial: false,
      owner: 'the session itself',
      kindOf: () => null,
    })),
};
