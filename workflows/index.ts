export { maintenance } from './maintenance.js';
export { turn } from './turn.js';
