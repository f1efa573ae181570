/** The end of a run: the skipped tests with their reasons, and the line of counts. */
export function formatSummary({ passed, failed, skipped }) {
  const list = skipped.map((title) => `  - ${withReason(title)}\n`).join('');
  const counts = `${passed} passed, ${failed} failed${skipped.length === 0 ? '' : `, ${skipped.length} skipped`}`;
  return `${list === '' ? '' : `\nSkipped:\n${list}`}\n${counts}\n`;
}

function withReason(title) {
  return title.includes('[skipped: ') ? title : `${title} [skipped: no reason given]`;
}
