import { expect } from 'chai';
import { createReadiness, type PartStates } from '../../../src/platform/readiness.js';
import { eventually } from '../../support/eventually.js';

describe('readiness', () => {
  it('readiness is checked once for parallel requests, and again later', async () => {
    let checks = 0;
    const readiness = createReadiness(async (): Promise<PartStates> => {
      checks += 1;
      return { postgres: checks === 1 ? 'away' : 'ok', temporal: 'ok', worker: 'ok', sandbox: 'off' };
    });
    const answers = await Promise.all(Array.from({ length: 50 }, () => readiness()));
    expect(answers.map(({ postgres }) => postgres)).to.deep.equal(answers.map(() => 'away'));
    expect((await readiness()).postgres).to.equal('away');
    expect(checks).to.equal(1);
    await eventually('it is checked again', async () => (await readiness()).postgres === 'ok');
    expect(checks).to.equal(2);
  });
});
