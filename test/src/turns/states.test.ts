import { expect } from 'chai';
import { isOpen, TRANSITIONS, type TurnState, type TurnTrigger } from '../../../src/turns/states.js';

/** spec.md "States and transitions", written down once more: what each state makes of each trigger. */
const EXPECTED: Record<TurnState, Record<TurnTrigger, TurnState | null>> = {
  queued: { claim: 'running', complete: null, cancel: 'cancelled', fail: 'failed' },
  running: { claim: 'running', complete: 'completed', cancel: 'cancelled', fail: 'failed' },
  completed: { claim: null, complete: null, cancel: null, fail: null },
  cancelled: { claim: null, complete: null, cancel: null, fail: null },
  failed: { claim: null, complete: null, cancel: null, fail: null },
};

describe('the states of a turn', () => {
  for (const [state, row] of Object.entries(EXPECTED) as [TurnState, Record<TurnTrigger, TurnState | null>][]) {
    for (const [trigger, next] of Object.entries(row) as [TurnTrigger, TurnState | null][]) {
      it(`${state} + ${trigger} → ${next ?? 'refused'}`, () => expect(TRANSITIONS[state][trigger]).to.equal(next));
    }
    it(`${state} is ${row.cancel === null ? 'an end' : 'open'}`, () => {
      expect(isOpen(state)).to.equal(row.cancel !== null);
    });
  }

  it('are these and no others', () => {
    expect(TRANSITIONS).to.have.all.keys(...Object.keys(EXPECTED));
    for (const row of Object.values(TRANSITIONS)) expect(row).to.have.all.keys('claim', 'complete', 'cancel', 'fail');
  });
});
