import { readFileSync } from 'node:fs';
import { join } from 'node:path';

/** What the packages of the clients name until somebody who publishes them says where their source is. Nobody publishes from there. */
const PLACEHOLDER = 'github.com/agent-session-service/agent-session-service';

const FIELDS: [path: string, fields: string][] = [
  ['client/package.json', '`repository` and `homepage`'],
  ['python/pyproject.toml', 'the addresses of `[project.urls]`'],
];

/** The packages under `root` that still name the placeholder, each as a fault that says what to set. */
export function placeholders(root: string): string[] {
  return FIELDS.filter(([path]) => readFileSync(join(root, path), 'utf8').includes(PLACEHOLDER)).map(
    ([path, fields]) =>
      `${path} names the placeholder ${PLACEHOLDER}: set ${fields} to the repository that you publish from (docs/operations/publishing.md)`,
  );
}
