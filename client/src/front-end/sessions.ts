import type { AgentSessionClient } from '../client.js';
import type { Session } from '../types.js';

/** @internal A copy of a session that a page goes on in. `token`: the text of its first token, if a token has made it. */
export interface Fork {
  session: Session;
  token?: string;
}

/** @internal The clients of a page's sessions: each copy that a session token has made has tokens of its own. */
export class SessionClients {
  readonly #clients: Map<string, AgentSessionClient>;

  constructor(
    private readonly first: AgentSessionClient,
    others: SessionClients | null = null,
  ) {
    this.#clients = new Map<string, AgentSessionClient>(others === null ? [] : others.#clients);
  }

  of(sessionId: string): AgentSessionClient {
    return this.#clients.get(sessionId) ?? this.first;
  }

  /** Copies a session up to a turn. @throws ApiError that names the scope which a token lacks */
  async fork(sessionId: string, turnId: string): Promise<Fork> {
    const client = this.of(sessionId);
    const { token: made, ...session } = await client.forkSession(sessionId, { before_turn_id: turnId });
    if (made === undefined) {
      this.#clients.set(session.id, client);
      return { session };
    }
    this.#clients.set(session.id, client.forCopy(session.id, made.token));
    return { session, token: made.token };
  }
}
