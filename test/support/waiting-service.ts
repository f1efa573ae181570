import { expect } from 'chai';
import { PRICE } from './money.js';
import type { TurnService } from './turns.js';
import { useRegisteredMcp } from './use.js';
import { askingTools } from './waiting-turns.js';

/** What a form asks. */
export const FORM = {
  type: 'object' as const,
  properties: { branch: { type: 'string' as const } },
  required: ['branch'],
};

/**
 * A service whose turns wait in each way that there is: `mail` has a tool that asks a question, and one that needs approval; a call
 * of `notes` needs an account of the user; a model call costs money.
 */
export function useWaitingService(): {
  service: TurnService;
  session: (more?: object) => Promise<string>;
  notes: { id: string };
} {
  const { service, registered, mcp } = useRegisteredMcp(
    'mail',
    {
      tools: [
        {
          name: 'ask',
          run: async ({ ask }) => {
            const { action, content } = await ask({ mode: 'form', message: 'Which branch?', requestedSchema: FORM });
            return `${action} ${JSON.stringify(content ?? null)}`;
          },
        },
        { name: 'send' },
      ],
    },
    { model: { price: PRICE } },
  );
  const notes = { id: '' };
  before(async () => {
    const auth = { type: 'BEARER', token: 'own' };
    const body = { name: 'notes', url: `${mcp.url}?notes`, auth, credentials: 'user' };
    const made = await service.api('POST', '/v1/mcp-servers', body);
    expect(made.status, JSON.stringify(made.body)).to.equal(201);
    notes.id = made.body.id as string;
  });
  const session = (more: object = {}): Promise<string> => {
    const [mail, ...others] = askingTools(registered.id);
    return service.session({
      mcp_servers: [registered.id, notes.id],
      tools: [{ ...mail, elicitation: true }, ...others],
      user: 'ada',
      ...more,
    });
  };
  return { service, session, notes };
}
