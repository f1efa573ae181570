import type { Listener } from '../db/listen.js';
import { channelOf } from './notify.js';

/** The channels of the sessions that a process streams. Several sessions share one. */
export class SessionChannels {
  #users = new Map<string, number>();

  constructor(private readonly listener: Listener) {}

  get size(): number {
    return this.#users.size;
  }

  get isConnected(): boolean {
    return this.listener.isConnected;
  }

  /** Resolves when notifications of the session arrive. */
  join(sessionId: string): Promise<void> {
    const channel = channelOf(sessionId);
    this.#users.set(channel, (this.#users.get(channel) ?? 0) + 1);
    return this.listener.add(channel);
  }

  leave(sessionId: string): void {
    const channel = channelOf(sessionId);
    const users = this.#users.get(channel)! - 1;
    if (users > 0) {
      this.#users.set(channel, users);
    } else {
      this.#users.delete(channel);
      this.listener.remove(channel);
    }
  }

  close(): Promise<void> {
    return this.listener.close();
  }
}
