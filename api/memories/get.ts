import { operation } from '../http/core/operation.js';
import { memorySchema, presentMemory } from './present.js';
import { memoryOfPath } from './resource.js';

export const getMemory = operation({
  id: 'getMemory',
  summary: 'Get a memory',
  description: 'Shows whose it is, how large it is and when it last changed.',
  success: { status: 200, description: 'The memory.', schema: memorySchema },
  errors: ['memory_not_found'],
  resource: memoryOfPath,
  handle: async ({ resource }) => presentMemory(resource),
});
