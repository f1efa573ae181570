import type { ComponentChildren } from 'preact';
import { TextAreaField } from './fields.js';

interface Props {
  label: string;
  hint: string;
  value: string;
  /** What "Insert an example" puts there. */
  example: unknown;
  onChange: (json: string) => void;
  /** Further buttons. */
  children?: ComponentChildren;
}

/** A field for JSON, with an example to begin with. */
export function JsonField({ label, hint, value, example, onChange, children }: Props) {
  return (
    <>
      <TextAreaField
        label={label}
        hint={hint}
        class="code"
        rows={8}
        spellcheck={false}
        value={value}
        onChange={onChange}
      />
      <div class="actions">
        <button type="button" onClick={() => onChange(JSON.stringify(example, null, 2))}>
          Insert an example
        </button>
        {children}
      </div>
    </>
  );
}
