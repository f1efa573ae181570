import { expect } from 'chai';
import { timelineLines } from '../../ops/turn/timeline.js';
import { isoOf, microsOf } from '../../src/platform/timestamps.js';

const QUEUED = '2026-11-26T10:00:00.000000Z';
const at = (seconds: number): string => isoOf(microsOf(QUEUED) + Math.round(seconds * 1_000_000));
type Part = Parameters<typeof timelineLines>[0][number];
const part = (type: Part['type'], from: number, to: number | null, more: Partial<Part> = {}): Part => ({
  ...{ type, name: null, status: 'ok', step: null, attempt: null, action: null, error: null },
  ...{ started_at: at(from), ended_at: to === null ? null : at(to), ...more },
});
const QUEUE = part('queued', 0, 67.105);
const MODEL = part('model_call', 67.2, 70.704, { step: 1, attempt: 1 });
const TOOL = part('tool_call', 338.9, 340, { step: 1, name: 'mcp__orders__search' });
const ended = (seconds: number) => ({ queued_at: QUEUED, ended_at: at(seconds) });

describe('the time line of npm run turn', () => {
  it('the time line of npm run turn has durations, and names the largest gap', () => {
    expect(timelineLines([QUEUE, MODEL, TOOL], ended(340.02))).to.deep.equal([
      '+    0.000 s     67.105 s  queued',
      '+   67.200 s      3.504 s  model call of step 1',
      '+   70.704 s    268.196 s  between model call of step 1 and mcp__orders__search of step 1',
      '+  338.900 s      1.100 s  mcp__orders__search of step 1',
      'largest gap: 268.196 s between model call of step 1 and mcp__orders__search of step 1',
    ]);
  });

  it('the time line of npm run turn sees a gap only where nothing ran, and one before the end', () => {
    const wait = part('wait', 70.8, 339, { step: 1, action: 'tool_confirmation', status: 'failed' });
    const lines = timelineLines([QUEUE, MODEL, wait, TOOL], ended(345));
    expect(lines.filter((line) => line.includes('between'))).to.deep.equal([
      '+  340.000 s      5.000 s  between mcp__orders__search of step 1 and the end',
      'largest gap: 5.000 s between mcp__orders__search of step 1 and the end',
    ]);
    expect(lines[2]).to.equal('+   70.800 s    268.200 s  wait for tool_confirmation of step 1  failed');
    const again = part('model_call', 67.2, 70, { step: 1, attempt: 2 });
    expect(timelineLines([QUEUE, again], ended(70)).at(-1)).to.equal('largest gap: none of 0.1 s or more');
    expect(timelineLines([QUEUE, again], ended(70))[1]).to.match(/model call of step 1, attempt 2$/);
  });

  it('the time line of npm run turn tells a call that was lost with its worker from one that the model failed', () => {
    const error = { type: 'model_overloaded', message: 'Overloaded.', retryable: true };
    const calls = [1, 2, 3, 4].map((attempt) =>
      part('model_call', attempt - 1, attempt, {
        step: 1,
        attempt,
        status: 'failed',
        error: attempt === 2 ? error : null,
      }),
    );
    expect(
      timelineLines(calls, ended(4))
        .slice(0, 4)
        .map((line) => line.slice(27)),
    ).to.deep.equal([
      'model call of step 1  lost with its worker',
      'model call of step 1, attempt 2  failed',
      'model call of step 1, attempt 3  lost with its worker',
      'model call of step 1, attempt 4  failed',
    ]);
  });

  it('the time line of npm run turn hides the name of a tool that the turn does not offer, and the shortest parts of a long turn', () => {
    expect(timelineLines([{ ...TOOL, name: null }], ended(340)).at(-2)).to.match(
      /a tool that the turn does not offer of step 1$/,
    );
    const many = Array.from({ length: 100 }, (_, n) => part('model_call', n, n + 0.01 * (n + 1), { step: n + 1 }));
    const lines = timelineLines(many, ended(100));
    expect(lines).to.have.length(62);
    expect(lines.at(-2)).to.equal('(130 shorter parts are left out)');
    expect(lines.at(-1)).to.equal('largest gap: 0.990 s between model call of step 1 and model call of step 2');
  });
});
