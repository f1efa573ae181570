export { turn } from './turn.js';
