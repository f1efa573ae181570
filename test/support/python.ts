import { execFileSync } from 'node:child_process';

/** Why code with `requests` cannot run here; null if it can. */
export function missingPython(): string | null {
  try {
    execFileSync('python3', ['-c', 'import sys; sys.exit(sys.version_info < (3, 9))'], { stdio: 'ignore' });
  } catch {
    return 'python3 of version 3.9 or later is not here';
  }
  try {
    execFileSync('python3', ['-c', 'import requests'], { stdio: 'ignore' });
    return null;
  } catch {
    return 'python3 has no package requests';
  }
}
