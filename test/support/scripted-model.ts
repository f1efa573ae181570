export * from '../../dev/fake-model/server.js';
