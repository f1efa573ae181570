import { useChat } from '@ai-sdk/react';
import { expect } from 'chai';
import { setImmediate } from 'node:timers/promises';
import { createElement, StrictMode, type ReactNode } from 'react';
import { AgentSessionClient } from '../../../client/src/index.js';
import { AgentSessionTransport } from '../../../client/src/ai-sdk/index.js';
import { textOf } from '../../support/chat.js';
import { eventually } from '../../support/eventually.js';
import { text, wait } from '../../support/scripted-model.js';
import { useTurnService } from '../../support/use.js';

interface Page {
  document: { getElementById(id: string): never; body: { textContent: string | null } };
}

/** docs/decisions.md "Front ends" in React, which mounts each component twice in development. */
describe('useChat of the AI SDK', () => {
  const service = useTurnService();
  afterEach(() => service.model.reset());

  it('useChat of the AI SDK resumes a turn in StrictMode without cancelling it', async () => {
    const gate = service.model.gate();
    service.model.reply([text('Begun.'), wait(gate), text(' Done.')]);
    const id = await service.session();
    await service.send(id, 'Go');
    // Its types bring those of browsers into every file.
    const jsdom: string = 'jsdom';
    const { JSDOM } = (await import(jsdom)) as { JSDOM: new (html: string) => { window: Page } };
    const { window } = new JSDOM('<div id="root"></div>');
    Object.assign(globalThis, { window, document: window.document });
    // Node has one of its own since 21, which cannot be assigned.
    Object.defineProperty(globalThis, 'navigator', { value: { userAgent: 'test' }, configurable: true });
    const { createRoot } = await import('react-dom/client');
    const client = new AgentSessionClient({ baseUrl: service.url, apiKey: service.key });
    const transport = new AgentSessionTransport({ client });
    const Chat = (): ReactNode => {
      const { messages } = useChat({ id, transport, resume: true });
      return createElement('p', null, messages.map(textOf).join());
    };
    const root = createRoot(window.document.getElementById('root'));
    root.render(createElement(StrictMode, null, createElement(Chat)));
    const shown = (): string => window.document.body.textContent ?? '';
    await eventually('text shows', () => shown() === 'Begun.');
    gate.open();
    expect(await service.ended(id)).to.include({ type: 'turn.completed' });
    await eventually('the rest shows', () => shown() === 'Begun. Done.');
    root.unmount();
    // React's scheduler has work left that needs the window.
    for (let rounds = 0; rounds < 10; rounds += 1) await setImmediate();
    Reflect.deleteProperty(globalThis, 'window');
    Reflect.deleteProperty(globalThis, 'document');
  });
});
