import { CheckList } from './check-list.js';
import { Checkbox, SelectField, TextAreaField, TextField } from './fields.js';
import type { FieldValue, FormField } from './form-fields.js';

interface FieldProps {
  field: FormField;
  value: FieldValue;
  onChange: (value: FieldValue) => void;
}

/** The field of a form that is made from a JSON Schema. */
export function SchemaField({ field, value, onChange }: FieldProps) {
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
  if (kind === 'json') return <TextAreaField {...shared} class="code" rows={3} spellcheck={false} />;
  const type = kind === 'number' ? 'number' : inputType;
  return <TextField {...shared} {...limits} type={type} step={stepOf(field)} />;
}

/** In seconds for a date with a time. */
function stepOf({ kind, inputType, isInteger }: FormField): string | undefined {
  if (kind === 'number') return isInteger ? '1' : 'any';
  return inputType === 'datetime-local' ? '1' : undefined;
}
