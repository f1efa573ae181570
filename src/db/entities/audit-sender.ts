/** How the change was asked for: with a key, with a session token that the key made, or by a command on a machine of the service. */
export type AuditSource = 'key' | 'token' | 'command';

/** Who asks for a change. */
export interface AuditSender {
  source: AuditSource;
  /** Null for a command. */
  keyId: string | null;
  /** The person for whom the back end acts. */
  actor: string | null;
}
