/** SQL for whether a turn `t` can be continued: it did not finish its work, and more of the same may help. */
export function continuable(t: string): string {
  return `CASE ${t}.state WHEN 'cancelled' THEN true
    WHEN 'failed' THEN ${t}.end_reason <> 'context_too_long'
    WHEN 'completed' THEN ${t}.end_reason = 'budget_reached' END`;
}
