import { readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

/** `npm run third-party-page`: writes THIRD-PARTY.md, the packages that the service runs with, from the lock file. */
const ROOT = new URL('../../', import.meta.url);
const PAGE = fileURLToPath(new URL('THIRD-PARTY.md', ROOT));
/** Packages whose lock entry has no licence, with the one of their LICENSE file. */
const LICENCES: Record<string, string> = { unionfs: 'Unlicense' };

interface LockedPackage {
  version: string;
  license?: string;
  dev?: boolean;
  devOptional?: boolean;
  link?: boolean;
}

/** @throws Error for a package without a known licence */
export function thirdPartyPage(): string {
  const lock = JSON.parse(readFileSync(new URL('package-lock.json', ROOT), 'utf8')) as {
    packages: Record<string, LockedPackage>;
  };
  const lines = Object.entries(lock.packages)
    .filter(([path, { dev, devOptional, link }]) => path !== '' && !dev && !devOptional && !link)
    .map(([path, { version, license }]) => {
      const name = path.split('node_modules/').at(-1)!;
      const licence = license ?? LICENCES[name];
      if (licence === undefined) throw new Error(`${name} has no licence in package-lock.json: look into its folder.`);
      return `| ${name} | ${version} | ${licence} |\n`;
    });
  const rows = [...new Set(lines)].sort((a, b) => (a < b ? -1 : 1));
  return `# Third-party packages

The packages that API and worker run with, from \`package-lock.json\`. Each package's own licence text is in its folder of \`node_modules\`, also in the
image. \`npm run third-party-page\` writes this page.

| Package | Version | Licence |
|---|---|---|
${rows.join('')}`;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) writeFileSync(PAGE, thirdPartyPage());
