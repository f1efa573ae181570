export * from '../../temporal-dev/scripted-model/server.js';
