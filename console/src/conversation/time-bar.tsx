import type { TerminalEvent } from '../../../client/src/index.js';
import { formatDuration } from '../parts/format.js';

type Timing = TerminalEvent['timing'];

const PHASES = [
  ['queued_ms', 'queued'],
  ['connect_ms', 'connecting'],
  ['model_ms', 'model'],
  ['tools_ms', 'tools'],
  ['waiting_ms', 'waiting'],
] as const satisfies [keyof Timing, string][];

export function TimeBar({ timing }: { timing: Timing }) {
  const known = PHASES.map(([name, label]) => ({ label, ms: timing[name] ?? 0 }));
  const other = timing.total_ms - known.reduce((sum, { ms }) => sum + ms, 0);
  const phases = [...known, { label: 'other', ms: Math.max(0, other) }].filter(({ ms }) => ms > 0);
  const words = phases.map(({ label, ms }) => `${label} ${formatDuration(ms)}`).join(', ');
  return (
    <div class="time-bar" role="img" aria-label={`Time: ${words}`} title={words}>
      {phases.map(({ label, ms }) => (
        <span key={label} class={`phase ${label}`} style={{ flexGrow: ms }} />
      ))}
    </div>
  );
}
