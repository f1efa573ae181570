import { Checkbox } from './fields.js';

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
        <Checkbox
          key={value}
          label={label}
          hint={hint}
          checked={selected.includes(value)}
          onChange={(on) => toggle(value, on)}
        />
      ))}
    </>
  );
}
