import type { ToolSource } from '../tool-source.js';
import { giveOutput } from './give-output.js';

/** The tool that ends a turn with `output_schema`. */
export const outputSource: ToolSource = {
  tools: ({ outputSchema }) =>
    outputSchema === null
      ? []
      : [
          {
            definition: giveOutput(outputSchema),
            shown: 'last',
            permission: 'allow',
            isSerial: false,
            owner: 'the session itself',
            kindOf: () => null,
          },
        ],
};
