import { readFile, rename, writeFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { bundleWorkflowCode } from '@temporalio/worker';

/** Far above the size of our workflows. Only an import that does not belong in a workflow (typeorm, say) exceeds it. */
const MAX_BUNDLE = { plain: 3_000_000, traced: 5_000_000 };

/**
 * Bundles dist/workflows at build time, so that a worker starts faster. Writes two bundles: a plain one, and one with
 * Temporal's tracing for workers that trace.
 */
const tracing = fileURLToPath(import.meta.resolve('@temporalio/interceptors-opentelemetry/lib/workflow-interceptors'));
await Promise.all([bundle('workflow-bundle.js', []), bundle('workflow-bundle-traced.js', [tracing])]);

async function bundle(name: string, workflowInterceptorModules: string[]): Promise<void> {
  const target = fileURLToPath(new URL(`../${name}`, import.meta.url));
  const { code } = await bundleWorkflowCode({
    workflowsPath: fileURLToPath(new URL('../workflows/index.js', import.meta.url)),
    workflowInterceptorModules,
    preloadModules: [fileURLToPath(new URL('../workflows/no-stacks.js', import.meta.url))],
    logger: {
      log() {},
      trace() {},
      debug() {},
      info() {},
      warn() {},
      error: (message) => process.stderr.write(`${message}\n`),
    },
  });
  const limit = workflowInterceptorModules.length === 0 ? MAX_BUNDLE.plain : MAX_BUNDLE.traced;
  if (code.length > limit)
    throw new Error(`${name} has ${code.length} characters. Find the import that does not belong in a workflow.`);
  if ((await readFile(target, 'utf8').catch(() => null)) === code) return;
  await writeFile(`${target}.new`, code);
  await rename(`${target}.new`, target);
}
