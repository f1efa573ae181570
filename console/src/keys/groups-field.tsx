import { TextField } from '../parts/fields.js';

/** `finance, legal` → the names. */
export function groupsOf(text: string): string[] {
  return [...new Set(text.split(',').map((name) => name.trim()))].filter((name) => name !== '');
}

interface Props {
  label?: string;
  hint: string;
  value: string;
  onChange: (text: string) => void;
}

/** Names of approver groups, as a person types them. The service checks them. */
export function GroupsField({ label = 'Approver groups', ...field }: Props) {
  return <TextField label={label} placeholder="finance, legal" autocomplete="off" {...field} />;
}
