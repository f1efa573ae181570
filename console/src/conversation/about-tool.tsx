import type { ToolConfirmationAction } from '../../../client/src/index.js';

/** What a tool is and may do, for the person who allows its call. It is the word of its server. */
export function AboutTool({ action: { title = null, annotations } }: { action: ToolConfirmationAction }) {
  // Events of before 1.0.0 have neither.
  const { read_only: readOnly = null, destructive = null, open_world: openWorld = null } = annotations ?? {};
  if (title === null && readOnly === null && destructive === null && openWorld === null) return null;
  return (
    <p class="about-tool">
      {title !== null && <strong>{title}</strong>}
      {readOnly === true && <span class="badge">read only</span>}
      {readOnly !== true && destructive === true && <span class="badge danger">destructive</span>}
      {openWorld === true && <span class="badge">reaches the outside</span>}
    </p>
  );
}
