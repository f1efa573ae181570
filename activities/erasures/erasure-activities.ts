/** Activities of the workflow of an erasure. They pass ids and small facts only. */
export interface ErasureActivities {
  /** Erases for some seconds. It may be repeated. `nextMs`: the pause before the next step; null when the erasure is done. */
  erase(input: { erasureId: string }): Promise<{ state: string; nextMs: number | null }>;
}
