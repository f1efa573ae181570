import { expect } from 'chai';
import { runBudgetTurns, type Kept } from '../support/budget-turns.js';

const TURNS = Number(process.env.BUDGET_TURNS ?? 30);

/** contract.md §10: a budget is never exceeded by more than the error of the token estimate. */
describe(`the budgets of ${TURNS} random turns`, function () {
  this.timeout(120_000 + TURNS * 2_000);
  let kept: Kept;
  before(async () => (kept = await runBudgetTurns(TURNS)));

  it('are never exceeded by models whose server counts tokens', () => {
    expect(kept.exceeded.counting).to.deep.equal([]);
  });

  it('are exceeded by others by no more than the error of the estimate of the last call', () => {
    const { turns, calls, stopped, summaries, exceeded, shares } = kept;
    const largest = Math.max(0, ...shares) * 100;
    console.log(
      `      ${turns} turns, ${calls} calls, ${summaries} of them summaries, ${stopped} turns ended at the budget; ` +
        `${exceeded.estimated.length} exceeded it, by at most ${largest.toFixed(2)} %`,
    );
    expect(kept.unexplained).to.deep.equal([]);
    expect(stopped).to.be.above(TURNS / 20);
    expect(summaries).to.be.above(0);
  });
});
