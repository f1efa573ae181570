import type {
  ComponentChildren,
  InputHTMLAttributes,
  LooseInputHTMLAttributes,
  TargetedEvent,
  TextareaHTMLAttributes,
} from 'preact';

interface FieldProps {
  label: string;
  hint?: ComponentChildren;
}

export function Field({ label, hint, children }: FieldProps & { children: ComponentChildren }) {
  return (
    <label class="field">
      <span>{label}</span>
      {children}
      {hint !== undefined && <span class="hint">{hint}</span>}
    </label>
  );
}

/** The wheel scrolls the page: it would change the number of a field that has the focus. */
function leaveField({ currentTarget }: TargetedEvent<HTMLInputElement>): void {
  currentTarget.blur();
}

type TextProps<Attributes> = FieldProps &
  Omit<Attributes, 'label' | 'value' | 'onChange'> & { value?: string; onChange: (text: string) => void };

export function TextField({
  label,
  hint,
  onChange,
  ...attributes
}: TextProps<LooseInputHTMLAttributes & { list?: string }>) {
  return (
    <Field label={label} hint={hint}>
      <input
        {...(attributes as InputHTMLAttributes)}
        onInput={(event) => onChange(event.currentTarget.value)}
        onWheel={attributes.type === 'number' ? leaveField : undefined}
      />
    </Field>
  );
}

export function TextAreaField({ label, hint, onChange, ...attributes }: TextProps<TextareaHTMLAttributes>) {
  return (
    <Field label={label} hint={hint}>
      <textarea {...attributes} onInput={(event) => onChange(event.currentTarget.value)} />
    </Field>
  );
}

interface SelectProps<Value extends string> extends FieldProps {
  value: Value;
  options: readonly (readonly [value: Value, label: string])[];
  required?: boolean;
  disabled?: boolean;
  onChange: (value: Value) => void;
}

export function SelectField<Value extends string>({
  label,
  hint,
  options,
  onChange,
  ...attributes
}: SelectProps<Value>) {
  return (
    <Field label={label} hint={hint}>
      <select {...attributes} onChange={(event) => onChange(event.currentTarget.value as Value)}>
        {options.map(([value, text]) => (
          <option key={value} value={value}>
            {text}
          </option>
        ))}
      </select>
    </Field>
  );
}

interface CheckboxProps {
  label: string;
  hint?: string;
  checked: boolean;
  disabled?: boolean;
  onChange: (checked: boolean) => void;
}

export function Checkbox({ label, hint, onChange, ...attributes }: CheckboxProps) {
  return (
    <label class="check">
      <input type="checkbox" {...attributes} onChange={(event) => onChange(event.currentTarget.checked)} />
      <span>
        {label} {hint !== undefined && <span class="hint">{hint}</span>}
      </span>
    </label>
  );
}
