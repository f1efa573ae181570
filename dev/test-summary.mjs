/**
 * @typedef {{ title: string, error: string[] }} Failure a test that failed, and the lines to print of its error
 * @typedef {{ passed: number, failed: number, skipped: string[], failures: Failure[] }} FileSummary `skipped`: titles of tests
 * @typedef {{ passed: number, failed: number, skipped: string[], files: Record<string, FileSummary> }} RunSummary
 */

/**
 * The end of a run: the reasons of skipped tests, the failed tests, and the line of counts.
 * @param {RunSummary} summary
 */
export function formatSummary({ passed, failed, skipped, files }) {
  const counts = `${passed} passed, ${failed} failed${skipped.length === 0 ? '' : `, ${skipped.length} skipped`}`;
  return `${formatSkipped(skipped)}${formatFailures(files)}\n${counts}\n`;
}

/** @param {string[]} skipped */
function formatSkipped(skipped) {
  const reasons = new Map();
  for (const title of skipped) {
    const reason = /\[skipped: (.*)\]$/.exec(title)?.[1] ?? 'no reason given';
    reasons.set(reason, (reasons.get(reason) ?? 0) + 1);
  }
  const lines = [...reasons].map(([reason, tests]) => `  - ${tests} × ${reason}\n`).join('');
  return lines === '' ? '' : `\nSkipped:\n${lines}`;
}

/** @param {Record<string, FileSummary>} files */
function formatFailures(files) {
  const failed = Object.entries(files).filter(([, { failures }]) => failures.length > 0);
  const lines = failed.flatMap(([file, { failures }]) => [
    `  ${file}`,
    ...failures.flatMap(({ title, error }) => [`    ✗ ${title}`, ...error.map((line) => `        ${line}`)]),
  ]);
  return lines.length === 0 ? '' : `\nFailed:\n${lines.join('\n')}\n`;
}
