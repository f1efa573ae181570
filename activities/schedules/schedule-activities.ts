/** The activity of the workflow that fires a schedule. It passes ids and small facts only. */
export interface ScheduleActivities {
  /**
   * Starts the turn of the schedule's due time, if there is one. Run again, it finds the time taken.
   * `scheduledAt`: the time that Temporal fires, in milliseconds; null if the reconciler fires it.
   */
  fireSchedule(input: { scheduleId: string; scheduledAt: number | null }): Promise<string>;
}
