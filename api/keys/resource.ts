import { findKey, keyNotFound } from '../../src/projects/keys-of-project.js';
import { resourceOfPath } from '../http/core/resource.js';

export const keyOfPath = resourceOfPath('key_id', findKey, keyNotFound);
