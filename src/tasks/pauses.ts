/** decisions.md "Tasks and elicitation": the first poll of a task, and the pause between polls after a while. */
export const FIRST_POLL_MS = 1000;
const SLOW_AFTER_MS = 600_000;
const SLOW_POLL_MS = 60_000;
/** Polls of one project, of all its tasks together. */
const POLLS_PER_SECOND = 20;

/** The pause between polls of a task, in ms: at least what its server asks for, longer while the project has many open tasks. */
export function pollPause({ pollMs, ageMs }: { pollMs: number; ageMs: number }, openTasks: number): number {
  return Math.max(ageMs > SLOW_AFTER_MS ? SLOW_POLL_MS : pollMs, projectPause(openTasks));
}

/** The pause at which a project with that many open tasks keeps to its rate. */
export function projectPause(openTasks: number): number {
  return (openTasks * 1000) / POLLS_PER_SECOND;
}

/** Until the task may be polled again; until its first poll if it was not polled yet. */
export function untilPoll(
  task: { pollMs: number; ageMs: number; storedAgoMs: number; askedAgoMs: number | null },
  openTasks: number,
): number {
  return task.askedAgoMs === null
    ? Math.max(FIRST_POLL_MS, projectPause(openTasks)) - task.storedAgoMs
    : pollPause(task, openTasks) - task.askedAgoMs;
}
