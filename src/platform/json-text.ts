/** JSON text that goes into an answer as it is, such as a column that is large once parsed. */
export class JsonText {
  constructor(readonly text: string) {}
}

/** The JSON text of a value. An object may have `JsonText` as fields, or be one itself. */
export function jsonText(value: unknown): string {
  if (value instanceof JsonText) return value.text;
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return JSON.stringify(value);
  const fields: [string, unknown][] = Object.entries(value);
  if (!fields.some(([, field]) => field instanceof JsonText)) return JSON.stringify(value);
  const members = fields.map(([name, field]) => {
    const text = field instanceof JsonText ? field.text : JSON.stringify(field);
    return `${JSON.stringify(name)}:${text}`;
  });
  return `{${members.join(',')}}`;
}
