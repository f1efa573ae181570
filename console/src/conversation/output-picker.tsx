import { useEffect } from 'preact/hooks';
import { JsonField } from '../parts/json-field.js';
import { usePopover } from '../parts/use-popover.js';

const EXAMPLE = {
  type: 'object',
  properties: { order: { type: 'string' }, late: { type: 'boolean' }, reason: { type: 'string' } },
  required: ['order', 'late'],
};

interface Props {
  json: string;
  onChange: (json: string) => void;
  /** Why the last message was not sent. */
  error: unknown;
}

class NotJsonError extends Error {}

/** The JSON Schema of the value with which the turn of the next message must end. */
export function OutputPicker({ json, onChange, error }: Props) {
  const popover = usePopover();
  useEffect(() => {
    if (error instanceof NotJsonError) popover.current!.open = true;
  }, [error]);
  return (
    <details ref={popover} class="picker">
      <summary class="button quiet">Output{json !== '' && ' (1)'}</summary>
      <fieldset>
        <legend>The answer as a value</legend>
        <JsonField
          label="JSON Schema of the answer"
          hint="An object. The turn ends with a value of this schema."
          value={json}
          example={EXAMPLE}
          onChange={onChange}
        >
          <button type="button" class="quiet" disabled={json === ''} onClick={() => onChange('')}>
            Clear
          </button>
        </JsonField>
      </fieldset>
    </details>
  );
}

/** The field of a message. @throws NotJsonError if the text is no JSON; the service checks the rest */
export function outputSchemaOf(json: string): { output_schema?: { type: 'object' } } {
  if (json.trim() === '') return {};
  try {
    return { output_schema: JSON.parse(json) as { type: 'object' } };
  } catch {
    throw new NotJsonError('The schema of the output is not JSON.');
  }
}
