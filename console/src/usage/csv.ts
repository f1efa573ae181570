import type { UsageGroup } from '../../../client/src/index.js';

const COLUMNS = [
  'group',
  'cost',
  'currency',
  'turns',
  'model_calls',
  'input_tokens',
  'output_tokens',
  'cache_read_input_tokens',
  'cache_creation_input_tokens',
] as const;

export function csvOf(groups: readonly UsageGroup[]): string {
  const rows = groups.map(({ group, cost, ...counts }) => {
    const values: Record<string, string | number> = {
      ...counts,
      group: group ?? '',
      cost: cost?.amount ?? '',
      currency: cost?.currency ?? '',
    };
    return COLUMNS.map((column) => field(values[column]!)).join(',');
  });
  return [COLUMNS.join(','), ...rows].map((line) => `${line}\r\n`).join('');
}

/** RFC 4180. A leading apostrophe keeps a spreadsheet from taking the text of somebody else for a formula. */
function field(value: string | number): string {
  const text = typeof value === 'string' && /^[=+\-@\t\r]/.test(value) ? `'${value}` : String(value);
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
