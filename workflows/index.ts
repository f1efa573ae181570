export { erasure } from './erasure.js';
export { fireSchedule } from './fire-schedule.js';
export { maintenance } from './maintenance.js';
export { turn } from './turn.js';
export { webhookDelivery } from './webhook-delivery.js';
