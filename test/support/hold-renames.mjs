/**
 * Loaded into a process (`--import`): holds it at renames of files, which are the last step of storing an object and of caching a
 * mount. Each file in the folder HOLD_RENAMES is a rule, `{"target": TEXT, "skip": N}`: after N renames to a path with this text,
 * the next one waits while the rule is there. Then a file with the suffix `.reached` is beside it.
 */
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import promises from 'node:fs/promises';
import { syncBuiltinESMExports } from 'node:module';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

const folder = process.env.HOLD_RENAMES ?? '';
const seen = new Map();
const rename = promises.rename;

/** @param {string} path the new name of a file */
async function hold(path) {
  for (const name of readdirSync(folder).filter((each) => each.endsWith('.json'))) {
    const rule = join(folder, name);
    const { target, skip } = JSON.parse(readFileSync(rule, 'utf8'));
    if (!path.includes(target)) continue;
    const count = seen.get(name) ?? 0;
    seen.set(name, count + 1);
    if (count !== skip) continue;
    writeFileSync(`${rule}.reached`, '');
    while (existsSync(rule)) await sleep(20);
  }
}

promises.rename = async (from, to) => {
  await hold(String(to));
  return rename(from, to);
};
syncBuiltinESMExports();
