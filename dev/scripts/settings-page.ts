import { readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { API, EVERY_PROCESS, WORKER } from '../../src/platform/settings-table.js';

/** `npm run settings-page`: writes the tables of docs/settings.md from the table of settings. */
const PAGE = fileURLToPath(new URL('../../docs/settings.md', import.meta.url));

interface Setting {
  description: string;
  default?: string | number;
  shown?: string;
}

/** The page as it should be: the table below each heading is replaced. */
export function settingsPage(): string {
  const sections: Record<string, Record<string, Setting>> = { 'Every process': EVERY_PROCESS, API, Worker: WORKER };
  return Object.entries(sections).reduce(
    (page, [heading, settings]) =>
      page.replace(new RegExp(`(?<=^## ${heading}\n\n)(\\|.*\n)*`, 'm'), () => tableOf(settings)),
    readFileSync(PAGE, 'utf8'),
  );
}

function tableOf(settings: Record<string, Setting>): string {
  const rows = Object.entries(settings).map(
    ([name, setting]) => `| \`${name}\` | ${setting.description} | ${defaultOf(setting)} |\n`,
  );
  return `| Variable | Meaning | Default |\n|---|---|---|\n${rows.join('')}`;
}

function defaultOf({ default: value, shown }: Setting): string {
  return shown ?? (value === undefined || value === '' ? 'none' : `\`${value}\``);
}

if (process.argv[1] === fileURLToPath(import.meta.url)) writeFileSync(PAGE, settingsPage());
