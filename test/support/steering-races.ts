import { expect } from 'chai';
import { steps, text, wait } from './scripted-model.js';
import type { TurnService } from './turns.js';

/** Steers turns at the moment at which they end, and expects each message in exactly one turn. */
export async function raceEnds(service: TurnService, races: number): Promise<void> {
  service.model.on(/./, steps(text('ok')));
  const sessionId = await service.session();
  const post = (content: string, when_running: string) =>
    service.api('POST', `/v1/sessions/${sessionId}/messages`, { content, when_running });
  const sent: string[] = [];
  for (let race = 0; race < races; race += 1) {
    const gate = service.model.gate();
    service.model.on(/^Race$/, steps([text('One two', { before: { 1: wait(gate) } })]));
    await post('Race', 'queue');
    const steering = [post(`Steer ${race}`, 'steer'), post(`More ${race}`, 'steer')];
    gate.open();
    for (const { status, body } of await Promise.all(steering)) {
      expect(status).to.equal(201);
      sent.push(body.id as string);
    }
    await settled(service, sessionId);
  }
  const steered = (await service.history(sessionId)).filter(
    ({ type, content }) => type === 'user.message' && content !== 'Race',
  );
  expect(steered.map(({ id }) => id as string).sort()).to.deep.equal(sent.sort());
}

async function settled(service: TurnService, sessionId: string): Promise<void> {
  for (;;) {
    await service.ended(sessionId);
    const { queue, status } = (await service.api('GET', `/v1/sessions/${sessionId}`)).body;
    if (queue.length === 0 && status !== 'RUNNING') return;
  }
}
