import { TextField } from '../parts/fields.js';

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
