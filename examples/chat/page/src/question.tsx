import { useState, type ReactNode, type SubmitEvent } from 'react';

interface Field {
  type?: string;
  title?: string;
  description?: string;
  format?: string;
  enum?: string[];
  oneOf?: { const: string; title: string }[];
  default?: unknown;
  minimum?: number;
  maximum?: number;
  maxLength?: number;
}

export interface Form {
  properties?: Record<string, Field>;
  required?: string[];
}

export type Reply = { action: 'accept'; content?: Record<string, unknown> } | { action: 'decline' };

interface QuestionProps {
  message: string;
  /** Fields to fill in; without them there is only an address to open. */
  form?: Form;
  url?: string;
  onAnswer: (reply: Reply) => void;
}

/** A question of an MCP server. Its forms are flat: texts, numbers, choices, and yes or no. */
export function Question({ message, form, url, onAnswer }: QuestionProps): ReactNode {
  const fields = Object.entries(form?.properties ?? {});
  const [values, setValues] = useState<Record<string, unknown>>(() =>
    Object.fromEntries(
      fields.flatMap(([name, field]) => {
        if (field.default !== undefined) return [[name, field.default]];
        return field.type === 'boolean' ? [[name, false]] : [];
      }),
    ),
  );
  const set = (name: string, value: unknown): void => setValues({ ...values, [name]: value });
  const accept = (event: SubmitEvent): void => {
    event.preventDefault();
    const content = Object.fromEntries(
      Object.entries(values).filter(([, value]) => value !== '' && value !== undefined),
    );
    onAnswer({ action: 'accept', ...(form !== undefined && { content }) });
  };
  return (
    <form className="card ask" onSubmit={accept}>
      <p>{message}</p>
      {url !== undefined && (
        <a href={url} target="_blank" rel="noreferrer">
          {url}
        </a>
      )}
      {fields.map(([name, field]) => (
        <label key={name} className={field.type === 'boolean' ? 'check' : ''}>
          <span>
            {field.title ?? name}
            {form?.required?.includes(name) !== true && field.type !== 'boolean' && (
              <span className="soft"> (optional)</span>
            )}
          </span>
          <Input
            field={field}
            isRequired={form?.required?.includes(name) === true}
            value={values[name]}
            onChange={(value) => set(name, value)}
          />
        </label>
      ))}
      <div className="row">
        <button type="submit" className="primary">
          {form === undefined ? 'Done' : 'Send'}
        </button>
        <button type="button" onClick={() => onAnswer({ action: 'decline' })}>
          Decline
        </button>
      </div>
    </form>
  );
}

interface InputProps {
  field: Field;
  isRequired: boolean;
  value: unknown;
  onChange: (value: unknown) => void;
}

function Input({ field, isRequired, value, onChange }: InputProps): ReactNode {
  const { type, minimum, maximum, maxLength } = field;
  if (type === 'boolean') {
    return <input type="checkbox" checked={value === true} onChange={({ target }) => onChange(target.checked)} />;
  }
  const choices = field.oneOf ?? field.enum?.map((one) => ({ const: one, title: one }));
  if (choices !== undefined) {
    return (
      <select required={isRequired} value={asText(value)} onChange={({ target }) => onChange(target.value)}>
        <option value="">Choose…</option>
        {choices.map((one) => (
          <option key={one.const} value={one.const}>
            {one.title}
          </option>
        ))}
      </select>
    );
  }
  if (type === 'number' || type === 'integer') {
    return (
      <input
        type="number"
        required={isRequired}
        step={type === 'integer' ? 1 : 'any'}
        min={minimum}
        max={maximum}
        value={asText(value)}
        onChange={({ target }) => onChange(target.value === '' ? undefined : Number(target.value))}
      />
    );
  }
  const types: Record<string, string> = { date: 'date', email: 'email', uri: 'url' };
  return (
    <input
      type={types[field.format ?? ''] ?? 'text'}
      required={isRequired}
      maxLength={maxLength}
      value={asText(value)}
      onChange={({ target }) => onChange(target.value)}
    />
  );
}

const asText = (value: unknown): string =>
  typeof value === 'string' || typeof value === 'number' ? String(value) : '';
