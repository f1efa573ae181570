import { codePointLength, isStorableText } from '../../src/platform/text.js';
import { UsageError } from '../command.js';

const MAX_NAME_LENGTH = 255;
const MAX_DAYS = 36_500;

/** Reads `--project`. @throws UsageError */
export function projectOf(name: string | undefined): string {
  if (name === undefined) throw new UsageError('--project is missing.');
  return nameOf('--project', name)!;
}

export function nameOf(option: string, name: string | undefined): string | undefined {
  if (name === undefined) return undefined;
  if (name.trim() === '' || codePointLength(name) > MAX_NAME_LENGTH || !isStorableText(name)) {
    throw new UsageError(`${option} must be 1 to ${MAX_NAME_LENGTH} characters.`);
  }
  return name;
}

/** Reads `--max-running-turns`. @throws UsageError */
export function maxRunningTurnsOf(text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  if (!/^[1-9][0-9]{0,8}$/.test(text)) throw new UsageError('--max-running-turns must be a positive integer.');
  return Number(text);
}

/** Reads `--rate-per-minute`; null (the general limit) for the option without a number. @throws UsageError */
export function ratePerMinuteOf(text: string | undefined): number | null | undefined {
  if (text === undefined) return undefined;
  if (text === '') return null;
  if (!/^(0|[1-9][0-9]{0,8})$/.test(text)) {
    throw new UsageError('--rate-per-minute must be an integer: 0 for no limit, or nothing for the general limit.');
  }
  return Number(text);
}

/** Reads `--expires-in-days`. @throws UsageError */
export function daysOf(text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  const days = /^\d*\.?\d+$/.test(text) ? Number(text) : 0;
  if (days > 0 && days <= MAX_DAYS) return days;
  throw new UsageError(`--expires-in-days must be a number above 0, such as 90 or 0.5, and at most ${MAX_DAYS}.`);
}
