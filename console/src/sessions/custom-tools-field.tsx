import { JsonField } from '../parts/json-field.js';

const EXAMPLE = [
  {
    name: 'look_up_order',
    description: 'Finds an order by its number.',
    input_schema: { type: 'object', properties: { number: { type: 'string' } }, required: ['number'] },
  },
];

interface Props {
  json: string;
  onChange: (json: string) => void;
}

/** Tools that the client runs: the agent calls them, and somebody answers in the conversation. */
export function CustomToolsField({ json, onChange }: Props) {
  return (
    <details>
      <summary>Custom tools</summary>
      <div class="form">
        <JsonField
          label="Tools as JSON"
          hint="An array of name, description and input_schema. You run them: a call waits in the conversation for your result."
          value={json}
          example={EXAMPLE}
          onChange={onChange}
        />
      </div>
    </details>
  );
}
