import { TextAreaField } from '../parts/fields.js';

const EXAMPLE = JSON.stringify(
  [
    {
      name: 'look_up_order',
      description: 'Finds an order by its number.',
      input_schema: { type: 'object', properties: { number: { type: 'string' } }, required: ['number'] },
    },
  ],
  null,
  2,
);

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
        <TextAreaField
          label="Tools as JSON"
          hint="An array of name, description and input_schema. You run them: a call waits in the conversation for your result."
          class="code"
          rows={8}
          spellcheck={false}
          value={json}
          onChange={onChange}
        />
        <div class="actions">
          <button type="button" onClick={() => onChange(EXAMPLE)}>
            Insert an example
          </button>
        </div>
      </div>
    </details>
  );
}
