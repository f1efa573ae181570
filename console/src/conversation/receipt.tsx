import type { TerminalEvent } from '../../../client/src/index.js';
import { OutputView } from './output-view.js';
import { exactMoney, formatDuration, formatMoney, formatNumber } from '../parts/format.js';
import { Icon } from '../parts/icon.js';
import { useFork } from './fork-context.js';
import { useInspect } from './inspect-context.js';

const STOP_REASONS = {
  end_turn: 'Completed',
  max_steps: 'Stopped at the limit of steps',
  max_output_tokens: 'Stopped at the limit of output tokens',
  refusal: 'The model refused to go on',
  budget_reached: 'Stopped at the budget',
  output_invalid: 'Ended without an output that fits its schema',
} as const;

export function Receipt({ event, turnId }: { event: TerminalEvent; turnId: string }) {
  const { select } = useInspect();
  const fork = useFork();
  const { usage, usage_details: details, timing } = event;
  return (
    <footer class={`receipt ${event.type.slice('turn.'.length)}`}>
      {event.type === 'turn.failed' && (
        <p class="note error">
          <strong>{event.error.type}</strong> {event.error.message}
          {event.error.retryable && ' Sending the message again may help.'}
        </p>
      )}
      {event.type === 'turn.completed' && event.output != null && <OutputView value={event.output} />}
      <p class="facts">
        <strong>{headline(event)}</strong>
        {usage !== null && (
          <span>
            {formatNumber(usage.input_tokens)} {usage.input_tokens === 1 ? 'token' : 'tokens'} in,{' '}
            {formatNumber(usage.output_tokens)} out
          </span>
        )}
        {usage !== null && details !== null && (
          <span>{cacheShare(details.cache_read_input_tokens, usage.input_tokens)} from cache</span>
        )}
        {details !== null && (
          <span>
            {details.model_calls} model {details.model_calls === 1 ? 'call' : 'calls'}
          </span>
        )}
        {details !== null && details.cost !== null && (
          <span title={exactMoney(details.cost)}>{formatMoney(details.cost)}</span>
        )}
        {details?.estimated && <span title="The model did not report all of its usage">estimated</span>}
        {timing.first_token_ms !== null && <span>first token after {formatDuration(timing.first_token_ms)}</span>}
        <span>{formatDuration(timing.total_ms)} in total</span>
      </p>
      <TimeBar timing={timing} />
      <div class="turn-actions">
        <button class="quiet small" onClick={() => select({ kind: 'turn', turnId })}>
          <Icon name="timeline" size={14} /> Inspect
        </button>
        <button class="quiet small" onClick={() => fork('again', turnId)}>
          <Icon name="refresh" size={14} /> Ask again
        </button>
        <button class="quiet small" onClick={() => fork('after', turnId)}>
          <Icon name="fork" size={14} /> Fork from here
        </button>
      </div>
    </footer>
  );
}

function headline(event: TerminalEvent): string {
  if (event.type === 'turn.cancelled') return 'Cancelled';
  if (event.type === 'turn.failed') return 'Failed';
  return STOP_REASONS[event.stop_reason];
}

function cacheShare(cached: number, input: number): string {
  return input === 0 ? '0 %' : `${Math.round((100 * cached) / input)} %`;
}

type Timing = TerminalEvent['timing'];

const PHASES = [
  ['queued_ms', 'queued'],
  ['connect_ms', 'connecting'],
  ['model_ms', 'model'],
  ['tools_ms', 'tools'],
  ['waiting_ms', 'waiting'],
] as const satisfies [keyof Timing, string][];

const BETWEEN = 'between steps';
const BETWEEN_WORDS = 'The service’s own work, its queues, and pauses before a failed model call is made again';
const classOf = (label: string): string => label.split(' ')[0]!;

function TimeBar({ timing }: { timing: Timing }) {
  const known = PHASES.map(([name, label]) => ({ label, ms: timing[name] ?? 0 }));
  // Turns that ended before the service had the field get what is left.
  const between = timing.between_steps_ms ?? timing.total_ms - known.reduce((sum, { ms }) => sum + ms, 0);
  const phases = [...known, { label: BETWEEN, ms: Math.max(0, between) }].filter(({ ms }) => ms > 0);
  const words = phases.map(({ label, ms }) => `${label} ${formatDuration(ms)}`).join(', ');
  return (
    <div class="times">
      <div class="time-bar" role="img" aria-label={`Time: ${words}`} title={words}>
        {phases.map(({ label, ms }) => (
          <span key={label} class={`phase ${classOf(label)}`} style={{ flexGrow: ms }} />
        ))}
      </div>
      <span class="time-words" aria-hidden="true">
        {phases.map(({ label, ms }) => (
          <span key={label} title={label === BETWEEN ? BETWEEN_WORDS : undefined}>
            <span class={`phase swatch ${classOf(label)}`} /> {label} {formatDuration(ms)}
          </span>
        ))}
      </span>
    </div>
  );
}
