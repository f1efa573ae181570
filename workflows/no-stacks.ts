/**
 * Runs in the context of all workflows before the first one, after which it is frozen. The SDK takes the stack of every promise of a
 * workflow, only to answer the query `__stack_trace`: that is a seventh of a workflow's CPU. A fault of workflow code has no stack either;
 * its message and the turn's history say where it was.
 */
Error.stackTraceLimit = 0;
