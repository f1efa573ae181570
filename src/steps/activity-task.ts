/** One attempt of an activity. Calls record it, so that it can be taken over when its worker dies. */
export interface ActivityTask {
  /** The worker's identity in Temporal. */
  workerId: string;
  /** Names the attempt in Temporal. No secret, but of no use to people: never logged. */
  token: Uint8Array;
}
