import { readFile, rename, writeFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { bundleWorkflowCode } from '@temporalio/worker';

/** Far above what the workflow weighs: only a forbidden import (typeorm, say) gets there, and it would do so silently. */
const LARGEST_BUNDLE = 3_000_000;

/** Bundles dist/workflows to dist/workflow-bundle.js, so that a worker starts without doing it. */
const target = fileURLToPath(new URL('../workflow-bundle.js', import.meta.url));
const { code } = await bundleWorkflowCode({
  workflowsPath: fileURLToPath(new URL('../workflows/index.js', import.meta.url)),
  logger: {
    log() {},
    trace() {},
    debug() {},
    info() {},
    warn() {},
    error: (message) => process.stderr.write(`${message}\n`),
  },
});
if (code.length > LARGEST_BUNDLE)
  throw new Error(`the workflow bundle has ${code.length} characters: what did it import?`);
if ((await readFile(target, 'utf8').catch(() => null)) !== code) {
  await writeFile(`${target}.new`, code);
  await rename(`${target}.new`, target);
}
