const NUMBER = new Intl.NumberFormat('en');
const DATE_TIME = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeStyle: 'medium' });
const RELATIVE = new Intl.RelativeTimeFormat('en', { numeric: 'auto', style: 'short' });

export function formatNumber(value: number): string {
  return NUMBER.format(value);
}

/** `1 tool`, `2 tools`. */
export function countOf(count: number, noun: string): string {
  return `${formatNumber(count)} ${noun}${count === 1 ? '' : 's'}`;
}

const SIGNS: Record<string, string> = { USD: '$', EUR: '€', GBP: '£', JPY: '¥' };

/** For reading: cents, and two digits of what is less than a cent. `exactMoney` has every digit. */
export function formatMoney({ amount, currency }: { amount: string; currency: string }): string {
  const value = Number(amount);
  const digits = value === 0 || value >= 0.1 ? 2 : Math.min(6, 1 - Math.floor(Math.log10(value)));
  const rounded = value.toLocaleString('en', { minimumFractionDigits: 2, maximumFractionDigits: Math.max(2, digits) });
  const sign = SIGNS[currency];
  return sign === undefined ? `${rounded} ${currency}` : `${sign}${rounded}`;
}

/** The exact amount: costs of a turn are fractions of a cent. */
export function exactMoney({ amount, currency }: { amount: string; currency: string }): string {
  return `${amount} ${currency}`;
}

export function formatBytes(bytes: number): string {
  if (bytes < 1_000) return `${bytes} B`;
  if (bytes < 1_000_000) return `${(bytes / 1_000).toFixed(1)} kB`;
  return `${(bytes / 1_000_000).toFixed(1)} MB`;
}

export function formatDuration(ms: number): string {
  if (ms < 1_000) return `${Math.round(ms)} ms`;
  if (ms < 60_000) return `${(ms / 1_000).toFixed(1)} s`;
  const seconds = Math.round(ms / 1_000);
  return `${Math.floor(seconds / 60)} min ${seconds % 60} s`;
}

/** In the time zone of the browser, or in another one. */
export function formatDateTime(timestamp: string, timeZone?: string): string {
  const format =
    timeZone === undefined
      ? DATE_TIME
      : new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeStyle: 'short', timeZone });
  return format.format(new Date(timestamp));
}

/** "2 min ago", "in 3 hr"; a timestamp of this second is "now". */
export function formatRelative(timestamp: string): string {
  const seconds = Math.round((Date.parse(timestamp) - Date.now()) / 1_000);
  const size = Math.abs(seconds);
  if (size < 60) return relative(seconds, 'second');
  if (size < 3_600) return relative(Math.round(seconds / 60), 'minute');
  if (size < 86_400) return relative(Math.round(seconds / 3_600), 'hour');
  return relative(Math.round(seconds / 86_400), 'day');
}

/** Without the full stop of the abbreviation, which would stand twice at the end of a sentence. */
function relative(value: number, unit: Intl.RelativeTimeFormatUnit): string {
  return RELATIVE.format(value, unit).replace('.', '');
}

/** As an input of type `datetime-local` takes it, in the time zone of the browser. */
export function toLocalTime(date: Date): string {
  return new Date(date.getTime() - date.getTimezoneOffset() * 60_000).toISOString().slice(0, 19);
}
