import type { ComponentChildren } from 'preact';
import type { WorkspaceResult as Result } from '../conversation/tool-calls.js';
import { Facts } from '../inspector/facts.js';
import { formatDuration, formatNumber } from '../parts/format.js';

const STOPPED: Record<NonNullable<Result['stopped']>, string> = {
  timeout: 'its time was over',
  memory: 'it took too much memory',
  disk: 'a limit of the storage was reached; nothing of it is kept',
};

/** What a call did to the workspace of its session. */
export function WorkspaceResult({ result }: { result: Result }) {
  const { exit_code: exitCode, stopped, duration_ms: duration, version, changes } = result;
  const { created, modified, deleted, more } = changes;
  return (
    <div class="workspace-result">
      <Facts
        facts={[
          ['Exit code', exitCode === null ? null : String(exitCode)],
          ['Stopped', stopped === null ? null : STOPPED[stopped]],
          ['Ran for', formatDuration(duration)],
          ['Workspace', `version ${formatNumber(version)}`],
          ['Created', pathsOf(created)],
          ['Modified', pathsOf(modified)],
          ['Deleted', pathsOf(deleted)],
        ]}
      />
      {more > 0 && (
        <p class="hint">
          and {formatNumber(more)} more changed path{more > 1 && 's'}
        </p>
      )}
    </div>
  );
}

function pathsOf(paths: string[]): ComponentChildren {
  if (paths.length === 0) return null;
  return (
    <ul class="plain">
      {paths.map((path) => (
        <li key={path}>
          <code>{path}</code>
        </li>
      ))}
    </ul>
  );
}
