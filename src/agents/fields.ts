/** The number of an agent's version. */
export const versionNumber = { type: 'integer', format: 'int32', minimum: 1 } as const;
