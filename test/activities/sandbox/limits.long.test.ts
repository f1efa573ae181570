import { WAYS } from '../../support/limited-sandbox.js';
import { ATTACKS, describeAttacks } from './limits-table.js';

for (const way of WAYS) describeAttacks(`a limit of a command, ${way.title},`, way, Object.keys(ATTACKS));
