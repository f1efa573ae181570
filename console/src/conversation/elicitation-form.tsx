import { useState } from 'preact/hooks';
import type { Elicitation } from '../../../client/src/index.js';
import { useAction } from '../client/use-action.js';
import { CheckList } from '../parts/check-list.js';
import { ErrorNote } from '../parts/error-note.js';
import { Checkbox, SelectField, TextField } from '../parts/fields.js';
import { Time } from '../parts/time.js';
import { useDecisions } from './decision-context.js';
import { contentOf, formFields, type FieldValue, type FormField } from './form-fields.js';

/** Answers what an MCP server asks: with a form made from its schema, or by opening its address. */
export function ElicitationForm({ question }: { question: Elicitation }) {
  const { answer } = useDecisions();
  const [values, setValues] = useState<Record<string, FieldValue>>({});
  const fields = question.mode === 'form' ? formFields(question.requested_schema) : [];
  const { elicitation_id } = question;
  const answering = useAction(async (action: 'accept' | 'decline' | 'cancel') =>
    answer({
      type: 'user.elicitation_result',
      elicitation_id,
      action,
      ...(action === 'accept' && question.mode === 'form' && { content: contentOf(fields, values) }),
    }),
  );
  return (
    <form
      class="answer"
      aria-label={`Question of ${question.name}`}
      onSubmit={(event) => (event.preventDefault(), answering.run('accept'))}
    >
      <p>{question.message}</p>
      {fields.map((field) => (
        <QuestionField
          key={field.name}
          field={field}
          value={values[field.name] ?? field.initial}
          onChange={(value) => setValues((all) => ({ ...all, [field.name]: value }))}
        />
      ))}
      {question.mode === 'url' && (
        <p>
          <a href={question.url} target="_blank" rel="noopener noreferrer">
            {question.url}
          </a>
        </p>
      )}
      <ErrorNote error={answering.error} />
      <div class="actions">
        <button class="primary" disabled={answering.busy}>
          {question.mode === 'form' ? 'Send' : 'I have opened it'}
        </button>
        <button type="button" class="danger" disabled={answering.busy} onClick={() => answering.run('decline')}>
          Decline
        </button>
        <button type="button" disabled={answering.busy} onClick={() => answering.run('cancel')}>
          Cancel
        </button>
      </div>
      <p class="hint">
        The MCP server of this tool asks this. Without an answer it gets “cancel” <Time at={question.expires_at} />.
      </p>
    </form>
  );
}

interface FieldProps {
  field: FormField;
  value: FieldValue;
  onChange: (value: FieldValue) => void;
}

function QuestionField({ field, value, onChange }: FieldProps) {
  const { description, required, kind, inputType, limits, choices } = field;
  const label = required || kind === 'flag' ? field.label : `${field.label} (optional)`;
  if (kind === 'flag') {
    return (
      <div>
        <Checkbox label={label} checked={value === true} onChange={onChange} />
        {description !== null && <span class="hint">{description}</span>}
      </div>
    );
  }
  if (kind === 'choices') {
    return (
      <fieldset>
        <legend>{label}</legend>
        <CheckList
          options={choices}
          selected={value as string[]}
          onChange={(chosen) => onChange(choices.map((one) => one.value).filter((one) => chosen.includes(one)))}
        />
        {description !== null && <span class="hint">{description}</span>}
      </fieldset>
    );
  }
  const shared = { label, hint: description ?? undefined, required, value: String(value), onChange };
  if (kind === 'choice') {
    const options = [['', '–'], ...choices.map((choice) => [choice.value, choice.label] as const)] as const;
    return <SelectField {...shared} options={options} />;
  }
  const type = kind === 'number' ? 'number' : inputType;
  return <TextField {...shared} {...limits} type={type} step={stepOf(field)} />;
}

/** In seconds for a date with a time. */
function stepOf({ kind, inputType, isInteger }: FormField): string | undefined {
  if (kind === 'number') return isInteger ? '1' : 'any';
  return inputType === 'datetime-local' ? '1' : undefined;
}
