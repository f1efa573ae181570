import { useState } from 'preact/hooks';
import type { Elicitation } from '../../../client/src/index.js';
import { useAction } from '../client/use-action.js';
import { ErrorNote } from '../parts/error-note.js';
import { Time } from '../parts/time.js';
import { useAnswer } from './decision-context.js';
import { contentOf, formFields, type FieldValue, type FormField } from './form-fields.js';

/** Answers what an MCP server asks: with a form made from its schema, or by opening its address. */
export function ElicitationForm({ question }: { question: Elicitation }) {
  const answer = useAnswer();
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
        <Field
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

function Field({ field, value, onChange }: FieldProps) {
  const { label, description, required, kind, inputType, isInteger, limits, choices } = field;
  const title = required || kind === 'flag' ? label : `${label} (optional)`;
  const hint = description !== null && <span class="hint">{description}</span>;
  if (kind === 'flag') {
    return (
      <div>
        <Check label={title} checked={value === true} onChange={onChange} />
        {hint}
      </div>
    );
  }
  if (kind === 'choices') {
    const chosen = value as string[];
    return (
      <fieldset>
        <legend>{title}</legend>
        {choices.map((choice) => (
          <Check
            key={choice.value}
            label={choice.label}
            checked={chosen.includes(choice.value)}
            onChange={(isChosen) =>
              onChange(
                choices
                  .map((one) => one.value)
                  .filter((one) => (one === choice.value ? isChosen : chosen.includes(one))),
              )
            }
          />
        ))}
        {hint}
      </fieldset>
    );
  }
  return (
    <label class="field">
      <span>{title}</span>
      {kind === 'choice' ? (
        <select required={required} onChange={(event) => onChange(event.currentTarget.value)}>
          <option value="">–</option>
          {choices.map((choice) => (
            <option key={choice.value} value={choice.value} selected={value === choice.value}>
              {choice.label}
            </option>
          ))}
        </select>
      ) : kind === 'number' ? (
        <input
          type="number"
          step={isInteger ? '1' : 'any'}
          {...limits}
          required={required}
          value={String(value)}
          onInput={(event) => onChange(event.currentTarget.value)}
        />
      ) : (
        <TextInput type={inputType} required={required} limits={limits} value={String(value)} onChange={onChange} />
      )}
      {hint}
    </label>
  );
}

interface CheckProps {
  label: string;
  checked: boolean;
  onChange: (checked: boolean) => void;
}

function Check({ label, checked, onChange }: CheckProps) {
  return (
    <label class="check">
      <input type="checkbox" checked={checked} onChange={(event) => onChange(event.currentTarget.checked)} />
      <span>{label}</span>
    </label>
  );
}

interface TextInputProps {
  type: FormField['inputType'];
  required: boolean;
  limits: FormField['limits'];
  value: string;
  onChange: (value: string) => void;
}

function TextInput({ type, required, limits, value, onChange }: TextInputProps) {
  const shared = {
    ...limits,
    required,
    value,
    onInput: (event: { currentTarget: { value: string } }) => onChange(event.currentTarget.value),
  };
  if (type === 'email') return <input type="email" {...shared} />;
  if (type === 'url') return <input type="url" {...shared} />;
  if (type === 'date') return <input type="date" {...shared} />;
  if (type === 'datetime-local') return <input type="datetime-local" step="1" {...shared} />;
  return <input type="text" {...shared} />;
}
