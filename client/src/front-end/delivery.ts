export { deliveredTo } from '../delivery.js';
