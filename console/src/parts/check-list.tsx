interface Option {
  value: string;
  label: string;
  hint?: string;
}

interface Props {
  options: Option[];
  selected: string[];
  onChange: (selected: string[]) => void;
}

/** Any number of options. Stands in a fieldset, whose legend names them. */
export function CheckList({ options, selected, onChange }: Props) {
  const toggle = (value: string, on: boolean): void =>
    onChange(on ? [...selected, value] : selected.filter((each) => each !== value));
  return (
    <>
      {options.map(({ value, label, hint }) => (
        <label key={value} class="check">
          <input
            type="checkbox"
            checked={selected.includes(value)}
            onChange={(event) => toggle(value, event.currentTarget.checked)}
          />
          <span>
            {label} {hint !== undefined && <span class="hint">{hint}</span>}
          </span>
        </label>
      ))}
    </>
  );
}
