/**
 * `npm run bench [-- SCENARIO] [--OPTION VALUE]`: runs a scenario of bench/scenarios, by default `turns`; `list` shows all of
 * them. Everything runs on this machine, after `npm run setup`: quote ratios and counts rather than milliseconds, and run
 * nothing else meanwhile.
 */
import { readdirSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { Bench } from './bench.js';
import type { Scenario } from './scenario.js';

const folder = new URL('scenarios/', import.meta.url);
const load = async (name: string): Promise<Scenario> =>
  ((await import(new URL(`${name}.ts`, folder).href)) as { default: Scenario }).default;

const names = readdirSync(folder).map((file) => file.replace('.ts', ''));
const [first, ...others] = process.argv.slice(2);
const name = first === undefined || first.startsWith('-') ? 'turns' : first;
if (names.includes(name)) await run(await load(name), name === first ? others : process.argv.slice(2));
else await list();

async function run(scenario: Scenario, args: string[]): Promise<void> {
  const options = Object.entries(scenario.options).map(([option, usual]) => [
    option,
    { type: 'string' as const, default: String(usual) },
  ]);
  const { values } = parseArgs({ args, options: Object.fromEntries(options) });
  const given = Object.entries(values).map(([option, value]) => {
    const isNumber = typeof scenario.options[option] === 'number';
    if (isNumber && !/^\d+$/.test(String(value))) throw new Error(`Give --${option} a number`);
    return [option, isNumber ? Number(value) : value];
  });
  const bench = new Bench();
  for (const signal of ['SIGINT', 'SIGTERM'] as const)
    process.once(signal, () => void bench.close().finally(() => process.exit(1)));
  try {
    await scenario.run(bench, Object.fromEntries(given));
  } finally {
    await bench.close();
  }
}

async function list(): Promise<void> {
  if (name !== 'list') process.exitCode = 1;
  for (const each of names) {
    const { measures, options } = await load(each);
    const usual = Object.entries(options).map(([option, value]) => `--${option} ${value === '' ? "''" : value}`);
    console.log(`${[each, ...usual].join(' ')}\n    ${measures}`);
  }
}
