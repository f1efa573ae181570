/** The calls of this page's own back end. Everything else goes to the service, with the token. */
export interface Me {
  name: string;
  /** Address of the service. */
  service: string;
  suggestions: { label: string; text: string }[];
}

export interface ChatRow {
  id: string;
  title: string | null;
  isRunning: boolean;
}

/** The person is not signed in, or not any more. */
export class SignedOut extends Error {}

async function call<Answer>(method: string, path: string, body?: object): Promise<Answer> {
  const response = await fetch(`/api${path}`, {
    method,
    ...(body && { body: JSON.stringify(body), headers: { 'Content-Type': 'application/json' } }),
  });
  if (response.status === 401) throw new SignedOut('You are not signed in.');
  const answer = (await response.json()) as Answer & { message?: string };
  if (!response.ok) throw new Error(answer.message ?? 'The page’s back end failed.');
  return answer;
}

export const getMe = (): Promise<Me> => call('GET', '/me');
export const getPeople = (): Promise<{ id: string; name: string }[]> => call('GET', '/people');
export const signIn = (person: string): Promise<object> => call('POST', '/sign-in', { person });
export const signOut = (): Promise<object> => call('POST', '/sign-out', {});
export const listChats = (): Promise<ChatRow[]> => call('GET', '/chats');
export const createChat = (): Promise<{ id: string }> => call('POST', '/chats', {});
export const forgetApproval = (id: string, toolUseId: string): Promise<object> =>
  call('POST', `/chats/${id}/forget`, { toolUseId });

/** A function for `apiKey` of the client, which asks it again when a token has ended. `first`: a token that the page has already. */
export function tokenOf(id: string, first?: string): (of: { sessionId?: string }) => Promise<string> {
  let given = first;
  return async ({ sessionId = id }) => {
    const token = given ?? (await call<{ token: string }>('POST', `/chats/${sessionId}/token`, {})).token;
    given = undefined;
    return token;
  };
}
